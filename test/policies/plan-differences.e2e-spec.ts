import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';

describe('A plan', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  it('shows what each new version changes, with both values', async () => {
    const rules = { name: 'pays', version: '1', effect: 'allow', subjects: ['*'], actions: ['pay'], resources: ['*'] };
    const at = (max: number, more: object = {}): Record<string, unknown> => ({
      ...rules,
      conditions: [{ parameter: '/amount', op: 'lte', value: max }],
      limits: [{ max, of: '/amount', per: 'day', by: 'agent' }],
      ...more,
    });
    await createPolicy(app, at(100));
    const body = { policies: [at(100_000, { version: '2', actions: ['pay', 'refund'], limits: undefined })] };
    const { changes } = (await send(app, 'POST', '/api/v1/policies/plan', { body })).body;
    expect(changes.map(({ differences }: Parsed) => differences)).toEqual([
      [
        { at: '/actions', from: ['pay'], to: ['pay', 'refund'] },
        { at: '/conditions/0/value', from: 100, to: 100_000 },
        { at: '/limits/0', from: { max: 100, of: '/amount', per: 'day', by: 'agent' }, to: null },
      ],
    ]);
    const only = {
      policies: [{ ...at(100, { version: '2' }), limits: [{ max: 5, of: '/amount', per: 'day', by: 'agent' }] }],
    };
    const second = (await send(app, 'POST', '/api/v1/policies/plan', { body: only })).body;
    expect(second.changes[0].differences).toEqual([{ at: '/limits/0/max', from: 100, to: 5 }]);
  });
});
