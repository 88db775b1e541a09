import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { describeOnSqlite } from '../../support/database/database-kind';
import { buildCommandLine, gov } from '../command-line';

const APPROVAL = { approvers: [{ subjects: ['role:finance'] }] };
const LARGE = { parameter: '/amount', op: 'gt', value: 500 };

describeOnSqlite('gov explain of what restricts', () => {
  let app: TestApp;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['send', 'pay', 'sign', 'note', 'note-once'] });
    await createPolicy(app, { name: 'all', version: '1', actions: ['send', 'pay', 'sign'] });
    await createPolicy(app, {
      ...{
        name: 'large',
        version: '1',
        effect: 'deny',
        actions: ['pay'],
        description: 'Large payments\nare for people.',
      },
      conditions: [LARGE, { parameter: '/items/*/price', op: 'gt', value: 1 }],
    });
    await createPolicy(app, {
      ...{ name: 'after-reading', version: '1', effect: 'deny', actions: ['send'] },
      conditions: [{ earlier: 'web.*', op: 'exists', value: true }],
    });
    await createPolicy(app, {
      ...{ name: 'not-again', version: '1', effect: 'deny', actions: ['note-once'] },
      conditions: [{ earlier: 'web.*', within: 'PT4H', op: 'exists', value: false }],
    });
    const approvalRules = {
      name: 'signed',
      version: '1',
      effect: 'require_approval',
      actions: ['sign'],
      approval: APPROVAL,
    };
    await createPolicy(app, { ...approvalRules, conditions: [LARGE] });
  });
  afterAll(() => app.close());

  async function explained(words: readonly string[], key: string = API_KEY): Promise<string[]> {
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key };
    const { output, errors } = await gov(['explain', 'bot', ...words], { environment });
    expect(errors).toBe('');
    return output
      .replace(/ \(pol_\w+\)/, '')
      .trimEnd()
      .split('\n');
  }

  it('says what the deciding policy is for, and what its conditions saw', async () => {
    const items = { items: [{ price: 2 }] };
    const pay = ['pay', 'bill', 'bills/1', '--parameters'];
    const start = ['deny (policy_denied)', '  decided by large 1', '    Large payments are for people.'];
    const each = '    /items/*/price gt 1';
    expect(await explained([...pay, JSON.stringify({ ...items, amount: 501 })])).toEqual([
      ...start,
      '    /amount gt 500: it is 501',
      each,
    ]);
    for (const [amount, printedAmount] of [
      [undefined, 'missing'],
      [[501], '[501]'],
    ]) {
      const parameters = JSON.stringify({ ...items, amount });
      const unknown = `    /amount gt 500: it is ${String(printedAmount)}, so this is unknown`;
      expect(await explained([...pay, parameters])).toEqual([...start, unknown, each]);
    }
  });

  it('says that without a run it is unknown what was done earlier', async () => {
    const send = ['send', 'mail', 'mails/1'];
    expect(await explained(send)).toEqual([
      'deny (policy_denied)',
      '  decided by after-reading 1',
      '    that there was web.* before in the run: no run is given (--run), so this is unknown',
    ]);
    expect(await explained([...send, '--run', 'one'])).toEqual(['allow', '  decided by all 1']);
    expect(await explained(['note-once', 'note', 'notes/1'])).toEqual([
      ...['deny (policy_denied)', '  decided by not-again 1', '    that there was no web.* before within PT4H'],
    ]);
  });

  it('says it of an approval, and nothing to a key that may not read policies', async () => {
    const sign = ['sign', 'contract', 'contracts/1'];
    const rest = '  needs 1 of role:finance';
    const first = ['require_approval (approval_required)', '  decided by signed 1'];
    expect(await explained(sign)).toEqual([...first, '    /amount gt 500: it is missing, so this is unknown', rest]);
    const { secret } = await issueKey(app, { name: 'executes', scopes: ['execute'] });
    expect(await explained(sign, secret)).toEqual([...first, rest]);
  });

  it('names of an allow that is near the conditions that do not hold, and none that does', async () => {
    await createPolicy(app, {
      ...{ name: 'noted', version: '1', actions: ['note'] },
      conditions: [
        { parameter: '/text', op: 'ne', value: null },
        { parameter: '/gone', op: 'ne', value: 'x' },
        { parameter: '/gone', op: 'not_in', value: ['x'] },
        { parameter: '/place', op: 'not_in', value: [null] },
        { parameter: '/items/length', op: 'gte', value: 1 },
        { parameter: '/count', op: 'eq', value: 1 },
      ],
    });
    const parameters = { text: 'x', gone: null, place: {}, items: [1], count: 2 };
    const lines = await explained(['note', 'book', 'books/1', '--parameters', JSON.stringify(parameters)]);
    expect(lines.slice(-4)).toEqual([
      '  noted 1 would change this to allow if its conditions matched',
      '    /place not_in [null]: it is {}, so this is unknown',
      '    /items/length gte 1: it is missing, so this is unknown',
      '    /count eq 1: it is 2',
    ]);
  });
});
