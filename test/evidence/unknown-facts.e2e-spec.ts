import { createTestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { canonicalHash } from '../verification/recompute-chain';
import { runVerifier } from '../support/processes/run-verifier';
import { eraseIn } from './erased-log';
import { entriesOf, exportOf, sealEntries } from './forged-log';

const OTHER_ZONES = '2099a';
/** The members that the hash of an entry covers. */
const SEALED = [
  ...['v', 'sequence', 'id', 'timestamp', 'action', 'subjectType', 'subjectId'],
  ...['auditId', 'auditHash', 'stateHash', 'previousHash'],
];

describe('The verifier, on a log of which it cannot tell every fact', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    const allDay = { clock: 'America/Vancouver', op: 'between', value: ['00:00', '24:00'] };
    const limits = [{ max: 3, per: 'day', by: 'agent', zone: 'Asia/Tokyo' }];
    await createPolicy(app, { name: 'by day', actions: ['file', 'burn'], conditions: [allDay], limits });
    await createPolicy(app, { name: 'never', effect: 'deny', actions: ['drop', 'burn'] });
    await createPolicy(app, { name: 'walks', actions: ['walk'] });
    const owned = [{ claim: 'owner', op: 'supports', parameter: '/owner', value: 0.5 }];
    await createPolicy(app, { name: 'owned', actions: ['sell'], conditions: owned });
    await createPolicy(app, { name: 'sealed', effect: 'deny', actions: ['sell'], resources: ['sealed/*'] });
    const execute = async (action: string, resourceId = 'a', parameters = {}): Promise<Parsed> => {
      const body = { action, resourceType: 'bill', resourceId, parameters };
      await send(app, 'POST', '/api/v1/agents/bot/execute', { body });
      return (await send(app, 'GET', `/api/v1/executions?action=${action}&limit=1&order=desc`)).body.data[0];
    };
    const walked = await execute('walk');
    await send(app, 'POST', `/api/v1/executions/${walked['id']}/result`, { body: { outcome: 'executed' } });
    for (const action of ['file', 'file', 'file', 'file']) await execute(action);
    const { id: entityId } = await createEntity(app);
    await addClaim(app, entityId, { predicate: 'owner', value: 'C', context: { confidence: 1 } });
    const sold = await execute('sell', entityId, { owner: 'C' });
    const guarded = await execute('sell', `sealed/${entityId}`, { owner: 'C' });
    const [dropped, burnt, flown] = [await execute('drop'), await execute('burn'), await execute('fly')];
    const log = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    return { app, walked, sold, guarded, dropped, burnt, flown, entityId, log };
  });

  async function verified(change: (entries: Parsed[]) => Parsed[]): Promise<string> {
    const entries = change(entriesOf(stage.log));
    sealEntries(entries);
    return (await runVerifier(['-'], exportOf(entries))).output;
  }
  /** The entry of a denied execution, which then says that it was authorised. */
  function authorise(entries: readonly Parsed[], { id }: Parsed): Parsed {
    const entry = entries.find(({ subjectId }) => subjectId === id);
    const { audit, state } = entry;
    entry.action = audit.action = 'execution.authorized';
    Object.assign(audit, { outcome: 'success', reason: null });
    Object.assign(state, { outcome: 'authorized', completedAt: null, failureReason: null, policies: [] });
    delete state.reason;
    audit.details.policies = [];
    return entry;
  }

  it('accepts what clocks of other time zones said alike', async () => {
    const honest = await verified((entries) => {
      for (const { audit } of entries) if (audit.details.zones !== undefined) audit.details.zones = OTHER_ZONES;
      return entries;
    });
    expect(honest).toMatch(/\nVALID\n$/);
  });

  it('finds an execution that no clock let through, whatever the time zones were', async () => {
    for (const execution of [stage.dropped, stage.burnt]) {
      const output = await verified((entries) => {
        authorise(entries, execution).audit.details.zones = OTHER_ZONES;
        return entries;
      });
      expect(output).toContain('the effect is recorded as "allow", and computed as "deny"');
      expect(output).toMatch(/\nINVALID: .*\n$/);
    }
  });

  it('finds an execution that names an erased one, and was not let through', async () => {
    const { walked, dropped } = stage;
    const names: [name: string, value: unknown][] = [
      ['repeats', walked['id']],
      ['earlier', [{ policyId: 'pol_1', condition: 0, executionId: walked['id'] }]],
    ];
    for (const [name, value] of names) {
      const output = await verified((entries) => {
        authorise(entries, dropped).audit.details[name] = value;
        return eraseIn(entries, ['execution', String(walked['id'])]);
      });
      expect(output).toContain('the effect is recorded as "allow", and computed as "deny"');
    }
  });

  it('accepts what erased claims may have said, and finds what no claim let through', async () => {
    const lost = (entries: Parsed[]): Parsed[] => {
      const claim = entries.find(({ action }) => action === 'claim.added');
      return eraseIn(entries, ['entity', stage.entityId], (entry) => entry === claim);
    };
    const effects = /the effect is recorded as|the reason is recorded as|deciding policies/;
    expect(await verified(lost)).not.toMatch(effects);
    const output = await verified((entries) => {
      authorise(entries, stage.guarded);
      return lost(entries);
    });
    expect(output).toContain('the effect is recorded as "allow", and computed as "deny"');
  });

  it('counts entries of the first form, and finds what that form did not have', async () => {
    const asFirst = async (change: (entry: Parsed) => void): Promise<string> => {
      let previousHash = '0'.repeat(64);
      const entries = entriesOf(stage.log).map(({ detailsHash: _detailsHash, salts: _salts, ...entry }) => {
        change(entry);
        const { audit, state } = entry;
        const hashes = { auditHash: canonicalHash(audit), stateHash: state === null ? null : canonicalHash(state) };
        const first = { ...entry, ...hashes, v: 1, previousHash };
        const hash = canonicalHash(Object.fromEntries(SEALED.map((name) => [name, first[name]])));
        previousHash = hash;
        return { ...first, hash };
      });
      return (await runVerifier(['-'], exportOf(entries))).output;
    };
    expect(await asFirst(() => undefined)).toContain('version 1 has no details.rules');
    const output = await asFirst(({ audit }) => {
      for (const name of ['rules', 'agentRevision', 'used']) Reflect.deleteProperty(audit.details, name);
    });
    expect(output).toMatch(/NOTE \d+ entries are of version 1, which does not say what decided/);
  });

  it('counts what no policy let through, as the default effect need not be what it was', async () => {
    const output = await verified((entries) => {
      const policies = entries.flatMap(({ subjectType, subjectId, state }) => {
        if (subjectType !== 'policy') return [];
        const { status: _status, warnings: _warnings, createdAt: _createdAt, ...content } = state;
        return [[subjectId, canonicalHash(content)] as const];
      });
      const { details } = authorise(entries, stage.flown).audit;
      details.rules = canonicalHash({ defaultEffect: 'allow', evaluation: 4, policies: [...new Map(policies)].sort() });
      return entries;
    });
    expect(output).toContain('NOTE 1 executions were let through by the default effect alone');
    expect(output).toMatch(/\nVALID\n$/);
  });

  it('recomputes the result of an execution that was authorised more than a week before', async () => {
    const inDays = (time: string): string => new Date(Date.parse(time) + 8 * 86_400_000).toISOString();
    const forged = (outcome: string): Promise<string> =>
      verified((entries) => {
        const at = entries.findIndex(({ action }) => action === 'execution.completed');
        const { timestamp } = entries[at];
        // What was there before keeps its times, except for the days in which limits count.
        const text = JSON.stringify(entries.slice(at)).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]{12}Z/gu, (time) =>
          time >= timestamp || time.endsWith('00:00.000Z') ? inDays(time) : time,
        );
        const [completed, ...others]: Parsed[] = JSON.parse(text);
        completed.timestamp = completed.state.completedAt = others.at(-1)?.['timestamp'];
        completed.state.outcome = outcome;
        return [...entries.slice(0, at), ...others, completed];
      });
    expect(await forged('executed')).toMatch(/\nVALID\n$/);
    expect(await forged('failed')).toContain('the outcome is recorded as "failed", and computed as "executed"');
  });
});
