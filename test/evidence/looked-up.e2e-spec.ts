import { setTimeout as sleep } from 'node:timers/promises';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, createPolicy } from '../support/application/factories';
import { erase } from '../support/application/erase';
import { type Parsed, send } from '../support/application/send';
import { Random } from '../support/oracles/random-policies';
import { forge } from './forged-file';
import { runProgram } from './run-program';
import { decisionFileOf, verifyFile } from './verified-file';

describe('The verifier, on what conditions looked up', () => {
  let app: TestApp;
  let publicKey = '';
  let refund: Parsed;
  let denied: Parsed;
  let sent: Parsed;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    await createAgent(app, { name: 'bot', capabilities: ['look-up', 'refund', 'send'] });
    await createPolicy(app, { name: 'look', actions: ['look-up'] });
    const conditions = [{ earlier: 'look*', resource: 'same', op: 'exists', value: true }];
    await createPolicy(app, { name: 'refunds', actions: ['refund'], conditions });
    await createPolicy(app, { name: 'sends', actions: ['send'] });
    await execute('look-up', '/a');
    // By other rules than what is decided later.
    await createPolicy(app, { name: 'closed', effect: 'deny', actions: ['send'], conditions });
    refund = await execute('refund', 'a');
    sent = await execute('send', 'b');
    await execute('refund', 'b');
    denied = (await send(app, 'GET', '/api/v1/executions?outcome=denied')).body.data[0];
    publicKey = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body.publicKey;
  });
  afterAll(() => app.close());

  async function execute(action: string, resourceId: string): Promise<Parsed> {
    const body = { action, resourceType: 'order', resourceId, run: 'r' };
    return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
  }
  const verifyChanged = async (execution: Parsed, change: (entry: Parsed, file: Parsed) => void): Promise<string> => {
    const { text, publicKey: key } = forge(await decisionFileOf(app, execution), (file) => {
      for (const entry of [...file.entries]) change(entry, file);
    });
    return (await verifyFile(text, key)).output;
  };

  it('recomputes by the earlier execution, which the file has, and says where there was none', async () => {
    const exported = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    const outputs = [];
    for (const execution of [refund, sent, denied]) {
      const text = await decisionFileOf(app, execution);
      expect(await runProgram('assemble-file', app.url, execution.id)).toBe(text);
      const { exitCode, output } = await verifyFile(text, publicKey, exported);
      expect([exitCode, output]).toEqual([0, expect.any(String)]);
      outputs.push(output);
    }
    expect(outputs[0]).toMatch(
      /For the condition \[0\] of refunds 1\.0, exe_\w+ had been authorized before in the run\./,
    );
    expect(outputs[1]).toMatch(
      /condition \[0\] of closed 1\.0 found no earlier look\* in the run; a file alone does not/,
    );
    expect(outputs[2]).toMatch(/So it was denied: no_policy_allows\./);
  });

  it('finds what the file does not bear out', async () => {
    const isOwn = ({ subjectId }: Parsed, { id }: Parsed): boolean => subjectId === id;
    const none = await verifyChanged(refund, (entry) => {
      if (isOwn(entry, refund)) delete entry.audit.details.earlier;
    });
    expect(none).toMatch(/DIFFERS: .*details\.earlier/);
    const elsewhere = await verifyChanged(refund, (entry) => {
      if (!isOwn(entry, refund) && entry.subjectType === 'execution') entry.state.run = 's';
    });
    expect(elsewhere).toMatch(/DIFFERS: .*no earlier execution exe_\w+ that the condition \[0\] of refunds looks for/);
    const claimed = await verifyChanged(denied, (entry) => {
      if (isOwn(entry, denied)) entry.audit.details.earlier[0].executionId = refund.id;
    });
    expect(claimed).toMatch(/DIFFERS: .*no earlier execution/);
  });

  it('finds in the log what an entry says there was not', async () => {
    const { text, publicKey: key } = forge(await decisionFileOf(app, sent), (file) => {
      for (const { subjectId, state, audit } of file.entries)
        if (subjectId === sent.id) [state.resourceId, audit.details.resourceId] = ['a', 'a'];
    });
    const log = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    expect((await verifyFile(text, key, log)).output).toMatch(
      /DIFFERENCE entry \d+: exe_\w+ had been authorized before in the run/,
    );
  });

  it('takes a resource with two entities as naming none, and as naming the last one by the rules of before', async () => {
    await createAgent(app, { name: 'wirer', capabilities: ['wire'] });
    const conditions = [{ claim: 'iban', op: 'supports', parameter: '/iban', value: 0.9 }];
    await createPolicy(app, { name: 'wires', actions: ['wire'], conditions });
    const [one, other] = [(await createEntity(app)).id, (await createEntity(app)).id];
    await addClaim(app, one, { predicate: 'iban', value: 'DE02', context: { confidence: 0.95 } });
    const wire = async (resourceId: string): Promise<Parsed> => {
      const body = { action: 'wire', resourceType: 'account', resourceId, parameters: { iban: 'DE02' } };
      return (await send(app, 'POST', '/api/v1/agents/wirer/execute', { body })).body;
    };
    const paid = await wire(`accounts/${one}`);
    await wire(`${other}/${one}`);
    const [refused] = (await send(app, 'GET', '/api/v1/executions?action=wire&outcome=denied')).body.data;
    for (const execution of [paid, refused]) {
      const { output } = await verifyFile(await decisionFileOf(app, execution), publicKey);
      expect(output).toContain('RECOMPUTED');
    }
    const renamed = (evaluation: number): Promise<string> =>
      verifyChanged(paid, (entry, file) => {
        for (const rules of file.rules) rules.evaluation = evaluation;
        if (entry.subjectId !== paid.id) return;
        entry.state.resourceId = `${other}/${one}`;
        if (entry.audit.details.resourceId !== undefined) entry.audit.details.resourceId = entry.state.resourceId;
      });
    const another = /DIFFERENCE .*details\.claims names a condition that is not in force, or another entity/;
    expect(await renamed(3)).toMatch(another);
    for (const evaluation of [1, 2]) {
      const output = await renamed(evaluation);
      expect(output).not.toMatch(another);
      expect(output).toContain('1 matches and decides: wires 1.0 (allow');
    }
  });

  it('agrees with the service on random conditions on what was done before', async () => {
    const random = new Random(45);
    const [actions, agents, resources] = [
      ['ask-a', 'ask-b', 'tell'],
      ['one', 'two'],
      ['x', '/x', 'y'],
    ];
    for (const name of agents) await createAgent(app, { name, capabilities: ['*'] });
    for (const name of actions) await createPolicy(app, { name, actions: [name] });
    for (let index = 0; index < 8; index += 1) {
      const condition = {
        earlier: random.of(['ask*', 'ask-a', 'tell', '*']),
        ...random.of([{}, { within: 'PT1H' }, { within: 'P7D' }]),
        ...random.of([{}, { resource: 'same' }]),
      };
      await createPolicy(app, {
        name: `random ${index}`,
        actions: [random.of(actions)],
        effect: random.of(['allow', 'deny', 'deny']),
        priority: random.below(3),
        conditions: [{ ...condition, op: 'exists', value: random.of([true, false]) }],
      });
    }
    const statuses: number[] = [];
    for (let index = 0; index < 40; index += 1) {
      const run = random.of([undefined, 'r1', 'r2']);
      const body = { action: random.of(actions), resourceType: 'order', resourceId: random.of(resources), run };
      statuses.push((await send(app, 'POST', `/api/v1/agents/${random.of(agents)}/execute`, { body })).status);
    }
    expect(new Set(statuses)).toEqual(new Set([200, 403]));
    const exported = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    const { data } = (await send(app, 'GET', '/api/v1/executions?order=desc&limit=40')).body;
    for (const execution of data) {
      const { exitCode, output } = await verifyFile(await decisionFileOf(app, execution), publicKey, exported);
      expect({ exitCode, output }).toMatchObject({ exitCode: 0, output: expect.stringContaining('RECOMPUTED') });
    }
  });

  it('recomputes by what the agent did within a time, and finds in the log what is left out', async () => {
    await createAgent(app, { name: 'mailer', capabilities: ['read', 'mail'] });
    await createPolicy(app, { name: 'reads', actions: ['read', 'mail'] });
    const conditions = [{ earlier: 'rea*', within: 'PT4H', op: 'exists', value: true }];
    await createPolicy(app, { name: 'recent', effect: 'deny', actions: ['mail'], conditions });
    const ask = async (action: string, run?: string): Promise<Parsed> => {
      const body = { action, resourceType: 'mail', resourceId: 'm', run };
      return (await send(app, 'POST', '/api/v1/agents/mailer/execute', { body })).body;
    };
    const before = await ask('mail');
    const read = await ask('read', 'a');
    await ask('mail', 'b');
    const { data } = (await send(app, 'GET', '/api/v1/executions?action=mail&outcome=denied')).body;
    const exported = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    const outputs: string[] = [];
    for (const execution of [before, data[0]]) {
      const text = await decisionFileOf(app, execution);
      expect(await runProgram('assemble-file', app.url, execution.id)).toBe(text);
      const { exitCode, output } = await verifyFile(text, publicKey, exported);
      expect({ exitCode, output }).toMatchObject({ exitCode: 0, output: expect.stringContaining('RECOMPUTED') });
      outputs.push(output);
    }
    expect(outputs[0]).toMatch(
      /condition \[0\] of recent 1\.0 found no earlier rea\* within PT4H; a file alone does not/,
    );
    expect(outputs[1]).toMatch(/of recent 1\.0, exe_\w+ had been authorized before within PT4H\./);
    // The file tells of what another agent did, or what was done long before.
    for (const change of [
      (entry: Parsed): void => void (entry.state.agentId = 'agt_01J00000000000000000000000'),
      (entry: Parsed): void =>
        void (entry.timestamp = new Date(Date.parse(entry.timestamp) - 14_400_001).toISOString()),
    ]) {
      const forged = await verifyChanged(data[0], (entry) => {
        if (entry.subjectId === read.id) change(entry);
      });
      expect(forged).toMatch(/DIFFERENCE .*no earlier execution exe_\w+ that the condition \[0\] of recent looks for/);
    }
    // The entry says that there was nothing: the log has it, unless it is too old.
    const { text, publicKey: key } = forge(await decisionFileOf(app, data[0]), (file) => {
      const own = file.entries.find(({ subjectId }: Parsed) => subjectId === data[0].id);
      own.audit.details.earlier[0].executionId = null;
    });
    expect((await verifyFile(text, key, exported)).output).toMatch(
      /DIFFERENCE entry \d+: exe_\w+ had been authorized before within PT4H/,
    );
  });

  it('weighs the claims that were looked at, and finds those that were not', async () => {
    const { id: entityId } = await createEntity(app);
    const conditions = [{ claim: 'iban', op: 'supports', parameter: '/iban', value: 0.9 }];
    await createAgent(app, { name: 'payer', capabilities: ['pay'] });
    await createPolicy(app, { name: 'pays', actions: ['pay'], conditions });
    await addClaim(app, entityId, { predicate: 'iban', value: 'A', context: { confidence: 1 } });
    await addClaim(app, entityId, { predicate: 'iban', value: 'B', context: { confidence: 0.5 } });
    const pay = async (parameters: object): Promise<Parsed> => {
      const body = { action: 'pay', resourceType: 'account', resourceId: `${entityId}/x`, parameters };
      return (await send(app, 'POST', '/api/v1/agents/payer/execute', { body })).body;
    };
    const paid = await pay({ iban: 'A' });
    for (const parameters of [{ iban: 'B' }, {}]) await pay(parameters);
    const log = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    const { data } = (await send(app, 'GET', '/api/v1/executions?action=pay')).body;
    expect(data.map(({ outcome }: Parsed) => outcome).sort()).toEqual(['authorized', 'denied', 'denied']);
    for (const execution of data) {
      const text = await decisionFileOf(app, execution);
      expect(await runProgram('assemble-file', app.url, execution.id)).toBe(text);
      const { exitCode, output } = await verifyFile(text, publicKey, log);
      expect([exitCode, output]).toEqual([0, expect.any(String)]);
    }
    expect((await verifyFile(await decisionFileOf(app, paid), publicKey)).output).toMatch(
      /2 claims were known of ent_\w+, so it is true; a file alone/,
    );
    const unsure = await verifyChanged(paid, ({ action, state }) => {
      if (action === 'claim.added') state.context.confidence = 0.5;
    });
    expect(unsure).toMatch(/DIFFERS/);
    const { text, publicKey: key } = forge(await decisionFileOf(app, paid), (file) => {
      for (const { subjectId, audit } of file.entries) if (subjectId === paid.id) audit.details.claims[0].ids.pop();
      file.entries = file.entries.filter(({ state }: Parsed) => state.value !== 'B');
    });
    expect((await verifyFile(text, key)).output).toMatch(/RECOMPUTED/);
    const verification = await verifyFile(text, key, log);
    expect(verification.output).toMatch(/DIFFERENCE entry \d+: ent_\w+ had 2 such claims, and 1 were looked at/);
  });

  it('finds in the log what was known, and what was not, of an entity', async () => {
    const conditions = [{ claim: 'owner', op: 'supports', parameter: '/owner', value: 0.5 }];
    await createAgent(app, { name: 'seller', capabilities: ['sell'] });
    await createPolicy(app, { name: 'sells', actions: ['sell'], resources: ['*'] });
    await createPolicy(app, { name: 'owned', effect: 'deny', actions: ['sell'], conditions });
    const [few, many, long] = [
      (await createEntity(app)).id,
      (await createEntity(app)).id,
      (await createEntity(app)).id,
    ];
    const claims = (entityId: string, count: number, value: string): Promise<unknown> =>
      Promise.all(Array.from({ length: count }, () => addClaim(app, entityId, { predicate: 'owner', value })));
    await Promise.all([claims(few, 2, 'A'), claims(many, 101, 'A'), claims(long, 1, 'A'.repeat(999))]);
    const sell = async (entityId: string): Promise<Parsed> => {
      const body = { action: 'sell', resourceType: 'house', resourceId: entityId, parameters: { owner: 'B' } };
      await send(app, 'POST', '/api/v1/agents/seller/execute', { body });
      return (await send(app, 'GET', '/api/v1/executions?action=sell&limit=1&order=desc')).body.data[0];
    };
    const missing = `${few.slice(0, -4)}0000`;
    const sold = [await sell(few), await sell(many), await sell(long), await sell(missing)];
    expect(sold.map(({ outcome }) => outcome)).toEqual(['authorized', 'denied', 'denied', 'denied']);
    const log = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    const differences = [
      'had 2 such claims, and none was said to be known',
      'had 101 such claims, so nothing was known, and 0 were looked at',
      'had 1 such claims, so nothing was known, and 0 were looked at',
      'did not exist, so nothing was known, and 0 were looked at',
    ];
    for (const [index, execution] of sold.entries()) {
      const text = await decisionFileOf(app, execution);
      expect((await verifyFile(text, publicKey, log)).output).toMatch(/\nRECOMPUTED: /);
      const forged = forge(text, (file) => {
        const [claim] = file.entries.find(({ subjectId }: Parsed) => subjectId === execution.id).audit.details.claims;
        claim.ids = claim.ids === null ? [] : null;
      });
      expect((await verifyFile(forged.text, forged.publicKey, log)).output).toContain(differences[index]);
    }
  });

  it('notes that executions were erased which a condition on earlier ones could have meant', async () => {
    await createAgent(app, { name: 'forgetful', capabilities: ['look-up', 'refund'] });
    // Random policies of the tests before are still in force.
    await createPolicy(app, { name: 'forgetful', subjects: ['agent:forgetful'], actions: ['look-up'], priority: 1000 });
    const ask = async (action: string, run: string): Promise<Parsed> => {
      const body = { action, resourceType: 'order', resourceId: 'a', run };
      await send(app, 'POST', '/api/v1/agents/forgetful/execute', { body });
      return (await send(app, 'GET', '/api/v1/executions?agentId=forgetful&limit=1&order=desc')).body.data[0];
    };
    const [first, second] = [await ask('look-up', 'f1'), await ask('refund', 'f2')];
    expect([first['outcome'], second['outcome']]).toEqual(['authorized', 'denied']);
    const text = await decisionFileOf(app, second);
    const note = 'has 1 erased executions of the agent before: whether a condition on earlier ones meant them';
    const logs = [(await send(app, 'GET', '/api/v1/provenance/export')).text];
    await erase(app, { type: 'execution', id: first['id'] });
    logs.push((await send(app, 'GET', '/api/v1/provenance/export')).text);
    const outputs = await Promise.all(logs.map((log) => verifyFile(text, publicKey, log)));
    expect(outputs.map(({ output }) => output)).toEqual([
      expect.not.stringContaining('erased executions'),
      expect.stringContaining(note),
    ]);
    for (const { output } of outputs) expect(output).toMatch(/\nRECOMPUTED: denied as recorded\n$/);
  });

  it('has no file once what was looked up is erased, and one from before still holds against the log', async () => {
    const { id: entityId } = await createEntity(app);
    const conditions = [{ claim: 'limit', op: 'supports', parameter: '/limit', value: 0.5 }];
    await createPolicy(app, {
      name: 'books',
      actions: ['look-up'],
      resourceTypes: ['account'],
      priority: 9,
      conditions,
    });
    await addClaim(app, entityId, { predicate: 'limit', value: 'A', context: { confidence: 1 } });
    await addClaim(app, entityId, { predicate: 'other', value: 'B' });
    const request = { action: 'look-up', resourceType: 'account', resourceId: entityId, parameters: { limit: 'A' } };
    const booked = (await send(app, 'POST', '/api/v1/agents/bot/execute', { body: request })).body;
    const earlier = (await send(app, 'GET', '/api/v1/executions?action=look-up&limit=1')).body.data[0];
    const answers = (): Promise<unknown[]> =>
      Promise.all(
        [booked, refund].map(async ({ id }: Parsed) => {
          const { status, body } = await send(app, 'GET', `/api/v1/executions/${id}/evidence`);
          return [status, body.error?.code];
        }),
      );
    const gone = [410, 'CONTENT_ERASED'];
    const fileText = await decisionFileOf(app, booked);
    expect(await answers()).toEqual([200, 200].map((status) => [status, undefined]));
    const subjects = [
      { type: 'entity', id: entityId },
      { type: 'execution', id: earlier.id },
    ];
    const { id } = (await send(app, 'POST', '/api/v1/erasures', { body: { subjects, reason: 'Asked for.' } })).body;
    expect((await answers())[1]).toEqual(gone);
    while ((await send(app, 'GET', `/api/v1/erasures/${id}`)).body.completedAt === null) await sleep(20);
    expect(await answers()).toEqual([gone, gone]);
    const log = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    const { output } = await verifyFile(fileText, publicKey, log);
    expect(output).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
    expect(output).toMatch(/The export has 1 erased claims about ent_\w+ that the file does not have/);
  });
});
