import { decimalText, parsedDecimal } from '../../../core/values/decimal';
import { askedUses, fits, type PolicyLimit, recordedUse } from './limit';
import { windowsAt } from './limit-window';

const AT = '2026-11-24T13:30:00.000Z';

function firstUse(limit: PolicyLimit, parameters: Parameters<typeof askedUses>[2]['parameters'] = {}) {
  const policy = { id: 'pol_1', name: 'spend', version: '1' };
  const subject = { agentId: 'agt_1', agentName: 'bot', kind: 'machine', roles: [] } as const;
  const [use] = askedUses(policy, [limit], { subject, parameters, requestKey: () => 'key' }, windowsAt(AT));
  if (use === undefined) throw new Error('The limit has no requested use.');
  return use;
}

describe('the use that a request makes of a limit', () => {
  it('is one for each execution, of the agent or of all', () => {
    const each = firstUse({ max: 3, per: 'hour', by: 'agent' });
    expect(decimalText(each.amount ?? parsedDecimal('0'))).toBe('1');
    expect(each.sum).toEqual({
      sum: '["limit","spend",null,"hour","agent"]',
      window: '2026-11-24T13:00:00.000Z',
      key: 'agt_1',
    });
    expect(each.resetsAt).toBe('2026-11-24T14:00:00.000Z');
    expect(firstUse({ max: 3, per: 'week', by: 'policy' }).sum).toMatchObject({
      key: '',
      window: '2026-11-23T00:00:00.000Z',
    });
  });

  it('is the amount that the pointer names', () => {
    const limit = { max: 10, of: '/order/total', per: 'day', by: 'agent' } as const;
    expect(firstUse(limit, { order: { total: 2.5 } }).amount).toEqual(parsedDecimal('2.5'));
    for (const total of ['2.5', null, -1, 1e300, [1], { of: 1 }, true])
      expect(firstUse(limit, { order: { total } }).amount).toBeNull();
    expect(firstUse(limit, {}).amount).toBeNull();
  });

  it('fits up to the maximum, and never without an amount', () => {
    const max = parsedDecimal('10');
    const fit = (before: string, amount: string | null): boolean =>
      fits({ max, before: parsedDecimal(before), amount: amount === null ? null : parsedDecimal(amount) });
    expect([fit('7.5', '2.5'), fit('7.5', '2.51'), fit('10', '0'), fit('12', '0'), fit('0', null)]).toEqual([
      true,
      false,
      true,
      false,
      false,
    ]);
  });

  it('is recorded as text', () => {
    const use = firstUse({ max: 10, of: '/amount', per: 'month', by: 'policy' }, { amount: 0.1 });
    expect(recordedUse({ ...use, before: parsedDecimal('0.20') })).toEqual({
      policyId: 'pol_1',
      limit: 0,
      window: '2026-11-01T00:00:00.000Z',
      key: null,
      before: '0.2',
      amount: '0.1',
    });
  });
});
