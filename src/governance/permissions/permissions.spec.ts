import { requestOf } from './permissions';

describe('requestOf', () => {
  it('computes the hash of the action once, however many limits ask for it', () => {
    const read = jest.fn(() => 7);
    const parameters = Object.defineProperty({}, 'amount', { enumerable: true, get: read }) as { amount: number };
    const requested = { action: 'pay', resourceType: 'invoice', resourceId: 'a', parameters };
    const request = requestOf(requested, { type: 'user', id: 'x', roles: [] }, null, '2026-11-29T00:00:00.000Z');
    expect(read).not.toHaveBeenCalled();
    const hash = request.actionHash?.();
    const reads = read.mock.calls.length;
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect([request.actionHash?.(), read.mock.calls.length]).toEqual([hash, reads]);
  });
});
