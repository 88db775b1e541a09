import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AUDIENCE, claims, ISSUER, newPair, type Pair, publicKey, signedToken } from '../access/token-signing';
import { createAgent, issueKey } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import type { TestApp } from '../support/application/create-test-app';
import { type HeldRequest, type HeldStage, startHeld } from './held-requests';
import type { Person } from './support';

const SCOPES = ['policies', 'agents', 'review', 'read'];
/** Operations that the scopes of bound callers and tokens reach; the rest needs `admin`. */
const WITHOUT_ADMIN = /^polic|^agents_(?:create|update|resume)$/;
/** Changes what the requests after it rest on: all of it is tried but its making. */
const NEVER_MADE = 'policySets_apply';

/** A caller of some kind, and how its requests authenticate. */
interface HeldCaller {
  readonly kind: string;
  readonly isPerson: boolean;
  readonly isAdmin: boolean;
  readonly credentials: { readonly key?: string | null; readonly headers: Readonly<Record<string, string>> };
}

interface CallersStage extends HeldStage {
  readonly callers: readonly HeldCaller[];
}

/** A caller for each way to authenticate, and each kind of agent that can be behind it. */
async function startCallers(folder: string): Promise<CallersStage> {
  const pair = await newPair('ES256');
  writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: [await publicKey(pair, 'one')] }));
  const issuer = { issuer: ISSUER, audience: AUDIENCE, jwks: 'keys.json', agents: ['*'], scopes: SCOPES };
  writeFileSync(join(folder, 'issuers.json'), JSON.stringify([issuer]));
  const callers: HeldCaller[] = [
    { kind: 'the operator', isPerson: false, isAdmin: true, credentials: { headers: {} } },
  ];
  const registerCallers = async (app: TestApp): Promise<Person> => {
    const { secret } = await issueKey(app, { name: 'of nobody', scopes: ['admin'] });
    callers.push({ kind: 'an unbound key', isPerson: false, isAdmin: true, credentials: { key: secret, headers: {} } });
    const machine = await boundCallers(app, 'machine', pair);
    const person = await boundCallers(app, 'human', pair);
    callers.push(...machine.callers, ...person.callers);
    return person.withKey;
  };
  const held = await startHeld({ TOKEN_ISSUERS: join(folder, 'issuers.json') }, registerCallers);
  return { ...held, callers };
}

/** An agent with a key, and one with a token. The key comes last: a second person's holds back what follows. */
async function boundCallers(
  app: TestApp,
  kind: 'machine' | 'human',
  pair: Pair,
): Promise<{ readonly callers: HeldCaller[]; readonly withKey: Person }> {
  const made = { isPerson: kind === 'human', isAdmin: false };
  const sub = `${kind}-with-token`;
  await createAgent(app, { name: sub, kind, capabilities: ['review'] });
  const token = await signedToken('ES256', pair, { kid: 'one' }, claims({ sub }));
  const { id, name } = await createAgent(app, { name: `${kind}-with-key`, kind, capabilities: ['review'] });
  const { secret: key } = await issueKey(app, { name: `of a ${kind}`, scopes: SCOPES, agentId: id });
  const callers = [
    { kind: `a key of a ${kind}`, ...made, credentials: { key, headers: {} } },
    {
      kind: `a token of a ${kind}`,
      ...made,
      credentials: { key: null, headers: { Authorization: `Bearer ${token}` } },
    },
  ];
  return { callers, withKey: { id, name, key } };
}

describe('Changes of every kind of caller', () => {
  const folder = mkdtempSync(join(tmpdir(), 'held-callers-'));
  const stage: CallersStage = stageOf(() => startCallers(folder));
  afterAll(() => rmSync(folder, { recursive: true }));

  function ask({ credentials }: HeldCaller, [method, path, sent]: HeldRequest, change?: string): Promise<Answer> {
    const headers = { ...credentials.headers, ...(change !== undefined && { Change: change }) };
    return send(stage.app, method, path, { ...sent, ...credentials, headers });
  }

  const approve = (caller: HeldCaller, id: string): Promise<Answer> =>
    ask(caller, [
      'POST',
      `/api/v1/decisions/${id}/approve`,
      { body: caller.isAdmin ? { approverId: stage.ada.id } : {} },
    ]);

  const approvalCount = async (id: string): Promise<number> =>
    (await send(stage.app, 'GET', `/api/v1/decisions/${id}`)).body.reviews.length;

  const head = async (): Promise<number> =>
    (await send(stage.app, 'GET', '/api/v1/provenance?limit=1&order=desc')).body.total;

  /** The actions since a sequence that are no refusal, and not about the decision of a change. */
  async function changesSince(sequence: number): Promise<string[]> {
    const { body } = await send(stage.app, 'GET', '/api/v1/audit?limit=100');
    const entries = body.data as readonly { readonly action: string; readonly sequence: number }[];
    const actions = entries.flatMap((entry) => (entry.sequence > sequence ? entry.action : []));
    return actions.filter((action) => !/denied$|^decision\.(?:proposed|reviewed|approved)$/.test(action));
  }

  /** Expects what the contract says of a change from its proposal to its making. */
  async function expectHeld(route: string, request: HeldRequest, proposer: HeldCaller, isMade: boolean): Promise<void> {
    const about = `${route} by ${proposer.kind}`;
    const before = await head();
    const proposed = await ask(proposer, request);
    if (!proposer.isAdmin && !WITHOUT_ADMIN.test(route)) {
      expect([about, proposed.status, await changesSince(before)]).toEqual([about, 403, []]);
      return;
    }
    const needed = proposer.isPerson ? 1 : 2;
    expect([about, proposed.status, proposed.body.requiredApprovals]).toEqual([about, 202, needed]);
    const id = String(proposed.body.id);
    for (const caller of stage.callers) {
      const early = await ask(caller, request, id);
      expect([about, caller.kind, early.status === 202]).toEqual([about, caller.kind, caller === proposer]);
      if (caller !== proposer) expect([403, 409]).toContain(early.status);
      if (caller.isPerson && caller !== proposer) continue;
      const refused = await approve(caller, id);
      expect([about, caller.kind, refused.status]).toEqual([about, caller.kind, 403]);
    }
    expect([about, await approvalCount(id)]).toEqual([about, 0]);
    const people = stage.callers.filter((caller) => caller.isPerson && caller !== proposer);
    const ada = { kind: 'ada', isPerson: true, isAdmin: false, credentials: { key: stage.ada.key, headers: {} } };
    for (const person of [...people, ada].slice(0, needed)) {
      const approved = await approve(person, id);
      expect([about, person.kind, approved.status]).toEqual([about, person.kind, 200]);
    }
    for (const other of stage.callers.filter((caller) => caller !== proposer)) {
      const stolen = await ask(other, request, id);
      expect([about, other.kind, [403, 409].includes(stolen.status)]).toEqual([about, other.kind, true]);
    }
    expect([about, await changesSince(before)]).toEqual([about, []]);
    if (!isMade) return;
    const made = await ask(proposer, request, id);
    expect([about, made.status < 300 && made.status !== 202]).toEqual([about, true]);
    expect([about, (await ask(proposer, request, id)).status >= 400]).toEqual([about, true]);
  }

  it('are made by their proposer alone, once others have approved who are people with keys or tokens of their own', async () => {
    const routes = [...stage.requests].sort(
      ([one], [other]) => Number(other === NEVER_MADE) - Number(one === NEVER_MADE),
    );
    for (const [index, [route, request]] of routes.entries()) {
      const able = stage.callers.filter(({ isAdmin }) => isAdmin || WITHOUT_ADMIN.test(route));
      // The last one makes the change; each kind of caller is that for some route.
      const maker = able[index % able.length];
      const inTurn = [...stage.callers.filter((caller) => caller !== maker), ...(maker === undefined ? [] : [maker])];
      for (const proposer of inTurn)
        await expectHeld(route, request, proposer, proposer === maker && route !== NEVER_MADE);
    }
  });
});
