import { ORIGIN } from '../support/application/authenticator';
import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { signAndApprove, signedOf, signer } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import { canonical, canonicalHash } from '../verification/recompute-chain';
import { eraseIn } from './erased-log';
import { forgeLog } from './forged-log';
import { decisionFileOf, verifyFile } from './verified-file';

const HOUR = { for: 'PT1H', parameters: 'same', resources: null, uses: null };

describe('The verifier, on logs of an operator who has the signing key and no device of a person', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { PUBLIC_URL: ORIGIN } });
    await createAgent(app, { name: 'bot', capabilities: ['look', 'pay'] });
    const ann = await signer(app, 'ann', ['finance']);
    const approval = (signed: boolean): object => ({
      approvers: [{ subjects: ['role:finance'], approvals: 1, ...(signed && { signed }) }],
      grant: { for: 'PT1H', wider: true },
    });
    const required = { effect: 'require_approval', actions: ['look', 'pay'] };
    await createPolicy(app, { ...required, name: 'signed', resources: ['invoices/*'], approval: approval(true) });
    await createPolicy(app, {
      ...required,
      name: 'plain',
      resources: ['small/*', 'wide/*'],
      approval: approval(false),
    });

    const execute = async (action: string, resourceId: string, parameters = {}): Promise<Parsed> => {
      const body = { action, resourceType: 'bill', resourceId, parameters };
      return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
    };
    const approve = async ({ decisionId }: Parsed, grant: object): Promise<void> => {
      const body = { approverId: 'ann', grant };
      expect((await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body })).status).toBe(200);
    };
    const signedExecution = await execute('look', 'invoices/1');
    const { body: decision } = await send(app, 'GET', `/api/v1/decisions/${signedExecution.decisionId}`);
    const signature = ann.device.sign(signedOf(decision, ann.agent.id, HOUR));
    const sent = { signature, grant: { for: 'PT1H' } };
    expect((await signAndApprove(app, signedExecution.decisionId, ann, sent)).status).toBe(200);
    const small = await execute('pay', 'small/1');
    await approve(small, { for: 'PT1H', uses: 2 });
    const rejected = await execute('pay', 'small/2', { amount: 9 });
    const body = { approverId: 'ann', instead: { parameters: { amount: 4 } } };
    await send(app, 'POST', `/api/v1/decisions/${rejected.decisionId}/reject`, { body });
    for (const { id } of [signedExecution, small]) await send(app, 'POST', `/api/v1/executions/${id}/resume`);
    const servedExecution = await execute('look', 'invoices/1');
    const paid = [await execute('pay', 'small/1'), await execute('pay', 'small/1')];
    const instead = await execute('pay', 'small/2', { amount: 4 });
    const spelled = await execute('pay', 'wide/other');
    await send(app, 'POST', `/api/v1/decisions/${spelled.decisionId}/reject`, { body: { approverId: 'ann' } });
    await approve(await execute('pay', 'wide/1'), { for: 'PT1H', resources: ['wide/*'], parameters: 'any' });
    const wide = await execute('pay', 'wide/é');
    for (const { outcome } of [servedExecution, ...paid, instead, wide]) expect(outcome).toBe('authorized');
    const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
    const log = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    return { app, signedExecution, servedExecution, paid, instead, spelled, wide, log, publicKey: String(publicKey) };
  });

  /** Runs the verifier on a file and its log, both changed. */
  async function forged(execution: Parsed, change: (entries: Parsed[], ids: Set<string>) => Parsed[]): Promise<string> {
    const text = await decisionFileOf(stage.app, execution);
    const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, change);
    return (await verifyFile(file.text, publicKey, log)).output;
  }
  const about = (entries: Parsed[], subject: Parsed): Parsed[] =>
    entries.filter(({ subjectId }) => subjectId === subject['id']);
  const decisionOf = (entries: Parsed[], grantId: string): string =>
    entries.find(({ subjectId }) => subjectId === grantId).state.decisionId;

  it('recomputes the log as it was, and sealed anew', async () => {
    const { app, log, publicKey, servedExecution, paid, instead, signedExecution } = stage;
    for (const execution of [servedExecution, ...paid, instead, signedExecution]) {
      const text = await decisionFileOf(app, execution);
      expect((await verifyFile(text, publicKey, log)).output).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
      expect(await forged(execution, (entries) => entries)).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
    }
  });

  it('leaves a file of an earlier version undecided, and names what it lacks', async () => {
    const { signedExecution, servedExecution } = stage;
    const text = await decisionFileOf(stage.app, servedExecution);
    const file = JSON.parse(text);
    file.entries = file.entries.filter(({ subjectId }: Parsed) => subjectId !== signedExecution.id);
    const { exitCode, output } = await verifyFile(canonical(file), stage.publicKey);
    expect([exitCode, output]).toEqual([3, expect.stringMatching(/\nUNDECIDED: .*\n$/)]);
    expect(output).toContain(`the file has no entry of the execution ${signedExecution.id}`);
  });

  it('finds a decision of a signed group that was proposed as approved, with a signature of two letters', async () => {
    const { servedExecution } = stage;
    const output = await forged(servedExecution, (entries, ids) => {
      const id = decisionOf(entries, servedExecution.grantId);
      const states = entries.filter(({ subjectId }) => subjectId === id);
      const [first, approved] = [states[0], states.at(-1)];
      const created = entries.find(({ subjectId }) => subjectId === servedExecution.grantId);
      first.state = approved.state;
      Object.assign(first.state, { resolvedAt: created.timestamp });
      first.state.reviews[0].signature.signature = 'AA';
      const dropped = states.slice(1).map((entry) => entry.id);
      const left = entries.filter((entry) => !dropped.includes(entry.id) && entry.subjectType !== 'passkey');
      for (const entry of left.filter(({ audit }) => audit.details.decisionId === id)) ids.add(entry.id);
      return left;
    });
    expect(output).toMatch(/decision.* is recorded as .*"approved"/);
    expect(output).toMatch(/\n(?:DIFFERS|INVALID): .*\n$/);
  });

  describe.each(['as it is', 'left out', 'changed alike'])('with the request that was signed %s', (how) => {
    it('finds a grant that was signed for something else', async () => {
      const { signedExecution, servedExecution } = stage;
      const output = await forged(servedExecution, (entries, ids) => {
        const other = { action: 'pay', resourceId: 'invoices/all' };
        const decisionId = decisionOf(entries, servedExecution.grantId);
        const changed = [
          ...about(entries, servedExecution),
          ...(how === 'changed alike' ? about(entries, signedExecution) : []),
        ];
        for (const { state, audit } of changed) {
          Object.assign(state, other);
          Object.assign(audit.details, other);
          const { agentId, action, resourceType, resourceId, parameters } = state;
          state.actionHash = canonicalHash({ agentId, action, resourceType, resourceId, parameters });
        }
        const { actionHash } = changed[0].state;
        const title = `bot: pay on bill/invoices/all`;
        for (const { subjectId, state } of entries) {
          if (subjectId === servedExecution.grantId) Object.assign(state, other);
          if (subjectId === decisionId && how === 'changed alike') Object.assign(state, { actionHash, title });
        }
        if (how === 'left out') for (const { id } of about(entries, signedExecution)) ids.delete(id);
        return entries;
      });
      const last = how === 'left out' ? /^UNDECIDED: |^DIFFERS: / : /^DIFFERS: /;
      expect(output.trimEnd().split('\n').at(-1)).toMatch(last);
    });
  });

  it('finds a grant for one use that was used twice, in the log', async () => {
    const { paid } = stage;
    const [, second] = paid;
    const output = await forged(second, (entries) => {
      const decisionId = decisionOf(entries, second.grantId);
      for (const { subjectId, state, audit } of entries) {
        if (subjectId === second.grantId) state.uses = 1;
        if (subjectId === second.grantId && audit.details.uses !== undefined) audit.details.uses = 1;
        if (subjectId === decisionId) for (const { grant } of state.reviews) grant.uses = 1;
      }
      return entries.filter(({ action }) => action !== 'grant.used_up');
    });
    expect(output).toMatch(/DIFFERS: .*the grant grt_\w+ was used 1 times before, of 1/);
  });

  it.each([
    ['finds', 'as it is', /DIFFERS: .*the decision dec_\w+ had given a grant before/],
    ['notes', 'erased', /The export has 1 erased grants of the agent: whether a decision of the file gave one of them/],
  ])('%s a second grant of one decision, in the log, while the first is %s', async (_verb, how, finding) => {
    const [, second] = stage.paid;
    const id = `${second.grantId.slice(0, -2)}00`;
    const output = await forged(second, (entries, ids) => {
      const created = entries.find(
        ({ action, subjectId }) => action === 'grant.created' && subjectId === second.grantId,
      );
      const copy = structuredClone(created);
      Object.assign(copy, { id: `${copy.id}2`, subjectId: id });
      copy.audit.subjectId = copy.state.id = id;
      for (const { state, audit } of about(entries, second)) state.grantId = audit.details.grantId = id;
      ids.add(copy.id);
      ids.delete(created.id);
      const log = entries
        .filter(({ action, subjectId }) => action !== 'grant.used_up' || subjectId !== second.grantId)
        .flatMap((entry) => (entry === created ? [entry, copy] : [entry]));
      for (const [index, entry] of log.entries()) entry.sequence = index + 1;
      return how === 'erased' ? eraseIn(log, ['grant', second.grantId]) : log;
    });
    expect(output).toMatch(finding);
  });

  it('finds a grant for other parameters that was made while its agent was suspended, in the log', async () => {
    const { instead } = stage;
    const output = await forged(instead, (entries) => {
      const decisionId = decisionOf(entries, instead.grantId);
      const suspended = structuredClone(
        entries.find(({ action, state }) => action === 'agent.created' && state.name === 'bot'),
      );
      suspended.id = `${suspended.id}2`;
      suspended.action = suspended.audit.action = 'agent.suspended';
      Object.assign(suspended.state, { status: 'suspended', revision: 2 });
      const rejection = entries.findIndex(
        ({ action, subjectId }) => action === 'decision.rejected' && subjectId === decisionId,
      );
      return entries.toSpliced(rejection, 0, { ...suspended, timestamp: entries[rejection].timestamp });
    });
    expect(output).toContain('the grant was made while the agent that requested it was suspended');
    expect(output).toMatch(/\nDIFFERS: .*\n$/);
  });

  it.each([
    ['the operator’s key', 'env', /only a key of the person registers one/],
    [
      'the key of somebody else',
      'key_other',
      /the key key_other, which registered the passkey, is no key in force that is bound to agt_/,
    ],
  ])('finds a passkey that was registered with %s', async (_whose, key, difference) => {
    const output = await forged(stage.servedExecution, (entries) => {
      for (const { action, audit } of entries) if (action === 'passkey.registered') audit.actor.id = key;
      return entries;
    });
    expect(output).toMatch(difference);
    expect(output).toMatch(/\nDIFFERS: .*\n$/);
  });

  it.each(['slack', 'system'])('finds a passkey that was registered by an actor of the type %s', async (type) => {
    const output = await forged(stage.servedExecution, (entries) => {
      for (const { action, audit } of entries)
        if (action === 'passkey.registered') audit.actor = { type, id: 'service' };
      return entries;
    });
    expect(output).toMatch(/DIFFERS: .*passkey\.registered with the actor/);
  });

  it.each<[of: string, difference: RegExp, change: (entries: Parsed[], at: number, other: string) => Parsed[]]>([
    [
      'that was registered for somebody else, too',
      /the passkey psk_\w+ was registered more than once/,
      (entries, at, other) => {
        const again = structuredClone(entries[at]);
        again.id = `${again.id}2`;
        again.audit.agentId = again.state.agentId = other;
        return entries.toSpliced(at + 1, 0, again);
      },
    ],
    [
      'that was registered for somebody else alone',
      /the passkey psk_\w+ is registered for agt_\w+, not for agt_\w+/,
      (entries, at, other) => {
        entries[at].audit.agentId = entries[at].state.agentId = other;
        return entries;
      },
    ],
    [
      'with a key that was registered for somebody else before',
      /the key of the passkey psk_\w+ was registered for agt_\w+ before/,
      (entries, at, other) => {
        const before = structuredClone(entries[at]);
        before.id = `${before.id}2`;
        before.subjectId = before.audit.subjectId = before.state.id = `${before.subjectId.slice(0, -2)}00`;
        before.audit.agentId = before.state.agentId = other;
        return entries.toSpliced(at, 0, before);
      },
    ],
    [
      'that was removed before',
      /the passkey psk_\w+ had been removed/,
      (entries, at) => {
        const removed = structuredClone(entries[at]);
        removed.id = `${removed.id}2`;
        removed.action = removed.audit.action = 'passkey.removed';
        removed.state = removed.salts.state = null;
        return entries.toSpliced(at + 1, 0, removed);
      },
    ],
    [
      'that was registered after',
      /the passkey psk_\w+ had not been registered/,
      (entries, at) => {
        const review = entries.findIndex(({ action }) => action === 'decision.approved');
        const moved = { ...entries[at], timestamp: entries[review].timestamp };
        moved.state.createdAt = moved.timestamp;
        return entries.toSpliced(review + 1, 0, moved).toSpliced(at, 1);
      },
    ],
  ])('finds a review that was signed with a passkey %s, in the log', async (_of, difference, change) => {
    const output = await forged(stage.servedExecution, (entries) => {
      const at = entries.findIndex(({ action }) => action === 'passkey.registered');
      const other = entries.find(({ action }) => action === 'agent.created').subjectId;
      return change(entries, at, other);
    });
    expect(output).toMatch(difference);
    expect(output).toMatch(/\n(?:DIFFERS|INVALID): .*\n$/);
  });

  it('finds a passkey that was registered with a key that had been revoked', async () => {
    const output = await forged(stage.servedExecution, (entries) => {
      const at = entries.findIndex(({ action }) => action === 'passkey.registered');
      const { actor } = entries[at].audit;
      const revoked = structuredClone(entries.find(({ subjectId }) => subjectId === actor.id));
      revoked.id = `${revoked.id}2`;
      Object.assign(revoked, { action: 'api_key.revoked', timestamp: entries[at].timestamp });
      revoked.audit.action = 'api_key.revoked';
      Object.assign(revoked.state, { status: 'revoked', revokedAt: revoked.timestamp });
      return entries.toSpliced(at, 0, revoked);
    });
    expect(output).toMatch(
      /DIFFERS: .*the key key_\w+, which registered the passkey, is no key in force that is bound to agt_/,
    );
  });

  it.each<[what: string, isFound: boolean, members: object]>([
    ['what was rejected in another spelling', true, {}],
    ['what was rejected for somebody else', false, { onBehalfOf: { subject: 'user:9', roles: [] } }],
    ['what was rejected of another type', false, { resourceType: 'order' }],
    ['what was rejected with other parameters', false, { parameters: { amount: 8 } }],
  ])('finds %s, behind a grant for more: %s', async (_what, isFound, members) => {
    const { app, wide, spelled } = stage;
    const text = await decisionFileOf(app, wide);
    const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, (entries) => {
      const [{ state: first }] = about(entries, spelled);
      const { decisionId } = first;
      for (const { state, audit } of about(entries, spelled)) {
        Object.assign(state, { resourceId: '/wide/%C3%A9', ...members });
        const { agentId, action, resourceType, resourceId, parameters, onBehalfOf } = state;
        Object.assign(audit.details, { resourceType, resourceId });
        const principal = onBehalfOf === undefined ? {} : { onBehalfOf };
        state.actionHash = canonicalHash({ agentId, action, resourceType, resourceId, parameters, ...principal });
        const title = `bot: ${action} on ${resourceType}/${resourceId}`;
        for (const entry of entries)
          if (entry.subjectId === decisionId) Object.assign(entry.state, { actionHash: state.actionHash, title });
      }
      return entries;
    });
    const { output } = await verifyFile(file.text, publicKey, log);
    const difference = /DIFFERS: .*the rejection by dec_\w+ held, which keeps out every spelling of the resource/;
    if (isFound) expect(output).toMatch(difference);
    else expect(output).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
  });

  it('finds a request for what others had rejected, whoever has to approve it by then', async () => {
    const { app, wide, spelled } = stage;
    const text = await decisionFileOf(app, wide);
    const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, (entries) => {
      const { state: requestState } = entries.find(({ state }) => state?.resourceId === 'wide/1');
      for (const { state, audit } of about(entries, spelled)) {
        Object.assign(state, { resourceId: requestState.resourceId, actionHash: requestState.actionHash });
        audit.details.resourceId = requestState.resourceId;
      }
      const { decisionId } = about(entries, spelled)[0]?.state ?? {};
      for (const { state } of entries.filter(({ subjectId }) => subjectId === decisionId))
        Object.assign(state, {
          title: 'bot: pay on bill/wide/1',
          actionHash: requestState.actionHash,
          approvers: [{ subjects: ['role:legal'], approvals: 1 }],
        });
      return entries;
    });
    const { output } = await verifyFile(file.text, publicKey, log);
    expect(output).toMatch(/DIFFERENCE .*the rejection of the same action by dec_\w+ held/);
    expect(output).toMatch(/\nDIFFERS: .*\n$/);
  });

  it('finds a rejection that was recorded as a grant', async () => {
    const { instead } = stage;
    const output = await forged(instead, (entries) => {
      for (const { state } of entries) if (state?.instead !== undefined) delete state.instead;
      return entries;
    });
    expect(output).toMatch(/DIFFERS: .*instead/);
  });
});
