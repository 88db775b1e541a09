import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy } from '../../support/application/factories';
import { describeOnSqlite } from '../../support/database/database-kind';
import { buildCommandLine, gov } from '../command-line';

/** Lines of a terminal. */
const SCREEN = 24;

describeOnSqlite('The headline of a plan', () => {
  let app: TestApp;
  let folder: string;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp({ environment: { RATE_LIMIT: '10000' } });
    folder = mkdtempSync(join(tmpdir(), 'headline-'));
    mkdirSync(join(folder, 'policies'));
    for (let index = 0; index < 12; index += 1) {
      await createAgent(app, { name: `bot-${index}`, roles: [`team-${index}`], capabilities: ['*'] });
      const policy = { subjects: [`agent:bot-${index}`], actions: [`act-${index}`], resources: [`place-${index}/*`] };
      await createPolicy(app, { ...policy, name: `own-${index}`, effect: index % 2 === 0 ? 'allow' : 'deny' });
    }
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  async function planned(policies: readonly object[], ...words: readonly string[]): Promise<string[]> {
    writeFileSync(join(folder, 'policies', 'all.json'), JSON.stringify({ policies }));
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
    const { exitCode, output, errors } = await gov(['policies', 'plan', ...words], { environment, folder });
    expect([exitCode, errors]).toEqual([2, '']);
    return output.trimEnd().split('\n');
  }

  const allow = { version: '1', effect: 'allow', subjects: ['*'], actions: ['*'], resources: ['*'] };

  it('is one line for a mistake that allows everybody everything', async () => {
    const lines = await planned([{ ...allow, name: 'oops', priority: 9 }]);
    const oopsLines = lines.filter((line) => line.includes('oops 1') && line.startsWith('!'));
    expect(oopsLines).toEqual([
      expect.stringMatching(/^! everybody may do everything but act-0, [^]*; and \d+ narrower cases \(oops 1\)$/),
      expect.stringMatching(/^! own-0 1\.0, [^]* and 4 more: whatever they match, oops 1 decides$/),
    ]);
    expect(lines.join('\n')).toMatch(/Kinds of requests that would get a different answer: \d+ newly allowed\./);
    expect(lines.length).toBeLessThanOrEqual(SCREEN / 2);
    const whole = await planned([{ ...allow, name: 'oops', priority: 9 }], '--all');
    expect(whole.length).toBeGreaterThan(lines.length + 10);
  });

  it('names the widest first, and fits ten policies on a screen', async () => {
    const few = Array.from({ length: 8 }, (_, index) => ({
      ...{ ...allow, name: `new-${index}`, subjects: [`role:team-${index}`] },
      ...{ actions: [`extra-${index}`], resources: [`x/${index}`] },
    }));
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    const lines = await planned([
      ...few,
      { ...allow, name: 'asks', effect: 'require_approval', actions: ['pay'], approval },
      { ...allow, name: 'machines', subjects: ['kind:machine'], actions: ['look'] },
    ]);
    const allowed = lines.filter((line) => line.startsWith('! '));
    expect(allowed[0]).toBe('! every machine may look on anything (machines 1)');
    expect(allowed).toContain('! bot-3 may extra-3 on x/3, or on 3 of the type x (new-3 1)');
    expect(lines).toContain('  everybody needs approval to pay on anything: approval by 1 of role:finance (asks 1)');
    expect(lines.length).toBeLessThanOrEqual(SCREEN + 10);
  });

  it('folds what changes for nobody in practice', async () => {
    const lines = await planned([{ ...allow, name: 'never', effect: 'deny', actions: ['nothing'] }]);
    expect(lines.join('\n')).toMatch(/No request would get a different answer in practice\.\n +\d+ kinds? of requests/);
    expect(lines.filter((line) => line.startsWith('!'))).toEqual([]);
  });

  it('shows what a new version of a policy changes', async () => {
    const conditions = [{ parameter: '/amount', op: 'lte', value: 100 }];
    const small = { ...allow, name: 'small', subjects: ['agent:bot-1'], actions: ['buy'], resources: ['a', 'b'] };
    await createPolicy(app, { ...small, conditions });
    const [first] = conditions;
    const lines = await planned([
      { ...small, version: '2', resources: ['a'], priority: 3, conditions: [{ ...first, value: 100_000 }] },
    ]);
    const trimmedLines = lines.map((line) => line.trim());
    const changes = ['/resources: ["a","b"] → ["a"]', '/conditions/0/value: 100 → 100000', '/priority: 0 → 3'];
    expect(trimmedLines.filter((line) => line.includes(' → '))).toEqual(changes);
  });

  it('says where it cuts names', async () => {
    const subjects = Array.from({ length: 12 }, (_, index) => `agent:bot-${index}`);
    const policies = [{ ...allow, name: 'many', subjects, actions: ['many'], resources: ['y'] }];
    const lines = await planned(policies);
    expect(lines.join('\n')).toMatch(/bot-7 and 4 more may many on y[^]*This is cut: --all shows all of it\./);
    expect((await planned(policies, '--all')).join('\n')).toMatch(/bot-11 may many on y/);
  });

  it('is never broader than what changes: a path behind the type, and a name behind it', async () => {
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    const lines = await planned([
      {
        ...{ ...allow, name: 'wires', effect: 'require_approval', subjects: ['bot-1'], approval },
        ...{ actions: ['wire'], resources: ['accounts/*'] },
      },
      { ...allow, name: 'refunds', subjects: ['bot-1'], actions: ['refund'], resources: ['orders/*'] },
    ]);
    expect(lines).toContain(
      '  bot-1 needs approval to wire on accounts/*, or on anything of the type accounts (except URLs): ' +
        'approval by 1 of role:finance (wires 1)',
    );
    expect(lines).toContain('! bot-1 may refund on orders/*, or on names without "/" of the type orders (refunds 1)');
  });

  it('says in brackets which types and places are left out', async () => {
    await createPolicy(app, { name: 'seen', subjects: ['bot-2'], actions: ['see'], resources: ['customers/*'] });
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    const asks = { ...allow, effect: 'require_approval', approval, subjects: ['bot-2'], actions: ['see'] };
    const deny = {
      ...allow,
      effect: 'deny',
      subjects: ['bot-2'],
      actions: ['see'],
      resourceTypes: ['customers'],
      priority: 5,
    };
    const lines = await planned([
      { ...asks, name: 'sights', resources: ['orders/*'] },
      { ...deny, name: 'unseen' },
    ]);
    expect(lines).toContain(
      '  bot-2 needs approval to see on orders/* (except of the type customers), ' +
        'or on anything of the type orders (except URLs): approval by 1 of role:finance (sights 1)',
    );
  });

  it('counts the lines that follow, and says what is not looked at', async () => {
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    const lines = await planned([
      { ...allow, name: 'wipes', subjects: ['bot-1'], actions: ['wipe'], resources: ['a/*', 'b/c'] },
      { ...allow, name: 'wires', subjects: ['bot-1', 'bot-3'], actions: ['wire'], resources: ['accounts/*'] },
      { ...allow, name: 'asks', subjects: ['bot-3'], effect: 'require_approval', approval, actions: ['ask'] },
    ]);
    const title = 'Kinds of requests that would get a different answer: 2 newly allowed, 1 newly in need of approval.';
    expect(lines).toContain(title);
    expect(lines.filter((line) => /^. bot-.* \(\w+ 1\)$/.test(line))).toHaveLength(3);
    expect(lines).toContain(
      '  Agents count as active and capable of everything: what their capabilities do not cover stays denied.',
    );
  });

  it('says whom and what an allow of everything leaves out', async () => {
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    const asks = { ...allow, effect: 'require_approval', priority: 9, approval };
    const policies = [
      { ...allow, name: 'all', priority: 9 },
      { ...asks, name: 'asks', subjects: ['bot-1'], actions: ['refund'] },
    ];
    const refunds = { ...allow, name: 'refunds', actions: ['refund*'], priority: 9 };
    expect(await planned([refunds, ...policies.slice(1)])).toContain(
      '! everybody may refund* but refund on anything; everybody but bot-1 may refund on anything (refunds 1)',
    );
    const lines = await planned(policies, '--all');
    const accessText = lines.filter((line) => / (?:may|needs) /.test(line)).join('\n');
    expect(accessText).toMatch(/^ {2}bot-1 needs approval to refund on anything/m);
    expect(accessText).toMatch(/everybody but bot-1 may refund on anything/);
    expect(accessText).not.toMatch(/everybody may (?:refund|do everything(?! but [^;]*refund))/);
  });

  it('says that it does not compare conditions, where one becomes stricter', async () => {
    const tips = { ...allow, name: 'tips', subjects: ['bot-7'], actions: ['tip'], resources: ['jars'] };
    const upTo = (value: number): object => ({ conditions: [{ parameter: '/amount', op: 'lt', value }] });
    const caveat = /Conditions and limits are not compared: where a policy only becomes stricter, nothing is newly/;
    expect((await planned([{ ...tips, ...upTo(9) }])).join('\n')).not.toMatch(caveat);
    await createPolicy(app, { ...tips, ...upTo(9) });
    expect((await planned([{ ...tips, ...upTo(5), version: '2' }])).join('\n')).toMatch(caveat);
  });

  it('speaks of conditions only where the answer depends on them, and says whose they are', async () => {
    await createPolicy(app, {
      ...{ name: 'small', effect: 'allow', subjects: ['bot-5'], actions: ['give'], resources: ['gifts'] },
      ...{ conditions: [{ parameter: '/amount', op: 'lt', value: 5 }] },
    });
    const asks = { ...allow, effect: 'require_approval', subjects: ['bot-5'], actions: ['give'], resources: ['gifts'] };
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    const [own] = [{ conditions: [{ parameter: '/amount', op: 'gt', value: 9 }] }];
    const lines = await planned([{ ...asks, name: 'plain', approval }]);
    expect(lines).toContain('  bot-5 needs approval to give on gifts: approval by 1 of role:finance (plain 1)');
    const conditional = await planned([{ ...asks, name: 'large', effect: 'allow', ...own }]);
    expect(conditional.join('\n')).toContain(
      'bot-5 may give on gifts, where its conditions and limits let it match and the conditions and limits of small 1.0 do not let it match (large 1)',
    );
  });
});
