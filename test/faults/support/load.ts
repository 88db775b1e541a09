import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Parsed } from '../../support/application/send';
import type { History, Operation, WriteRequest } from './history';
import { randomFor, type Random } from './random';

const RISK_LEVELS = ['low', 'medium', 'high', 'critical'];
const EFFECTS = ['allow', 'allow', 'allow', 'deny'];
const ACTIONS = ['read', 'write', 'deploy'];
/** Records that clients choose from: few enough that they compete, many enough that there are some. */
const REMEMBERED = 40;
/** Characters. They are stored twice: in the record and in the state of its entry. */
const LARGE = 200_000;

/** Share of the POSTs that carry an idempotency key, and so may be repeated. */
const KEYED = 0.5;
/** Share of the choices that repeat unanswered requests, and of those that repeat answered ones. */
const REPEATED = { unanswered: 0.5, answered: 0.05 };

/** Relative frequency of each write. */
const SHARES: Readonly<Record<Operation, number>> = {
  createEntity: 6,
  updateEntity: 5,
  deleteEntity: 2,
  addClaim: 6,
  removeClaim: 2,
  createAgent: 2,
  updateAgent: 1,
  suspendAgent: 1,
  resumeAgent: 2,
  createPolicy: 1,
  activatePolicy: 1,
  deactivatePolicy: 1,
  propose: 4,
  approve: 5,
  reject: 2,
  execute: 6,
};
const CHOICES = Object.entries(SHARES).flatMap(([operation, share]) =>
  Array<Operation>(share).fill(operation as Operation),
);

/**
 * Clients that write all kinds of records, some of which rules refuse, until they are stopped or nobody answers. The
 * seed determines their choices; they share the records they compete for, and the requests to be repeated.
 */
export class Load {
  private readonly ids: Record<'entities' | 'claims' | 'agents' | 'decisions' | 'policies', string[]> = {
    entities: [],
    claims: [],
    agents: [],
    decisions: [],
    policies: [],
  };
  private made = 0;
  private rounds = 0;

  constructor(
    private readonly label: string,
    private readonly history: History,
  ) {}

  /** Creates what the clients need at first: some agents, and a policy that lets them act. */
  async prepare(url: string): Promise<void> {
    const random = randomFor(`${this.label}: prepare`);
    for (let count = 0; count < 3; count += 1) await this.carryOut(url, this.createAgent());
    await this.carryOut(url, this.createPolicy(random, 'allow'));
    await this.carryOut(url, this.createEntity(random));
  }

  /** Runs the clients. The promise resolves once all have ended, because of `signal` or a lost connection. */
  async run(url: string, clients: number, signal: AbortSignal, pause = 0): Promise<void> {
    this.rounds += 1;
    const round = this.rounds;
    const one = async (_unused: unknown, client: number): Promise<void> => {
      const random = randomFor(`${this.label}: round ${round}, client ${client}`);
      while (!signal.aborted) {
        const answer = await this.once(url, random);
        if (answer === null) return;
        if (answer.status === 503 || pause > 0) await sleep(Math.max(pause, answer.status === 503 ? 20 : 0));
      }
    };
    await Promise.all(Array.from({ length: clients }, one));
  }

  /** Writes about this many bytes of entities, so that the write-ahead log is folded into the database file. */
  async fill(url: string, bytes: number): Promise<void> {
    const text = 'x'.repeat(LARGE);
    const body = { type: 'large', name: 'large', properties: { text } };
    for (let written = 0; written < bytes; written += 8 * LARGE) {
      await Promise.all(
        Array.from({ length: 4 }, () => this.carryOut(url, this.post('createEntity', 'entities', body))),
      );
    }
  }

  /** Sends one write of the seed's choice, or repeats one that carries a key. */
  async once(url: string, random: Random): Promise<Answer | null> {
    const { repeatable } = this.history.keyed;
    const isRepeated = random.chance(REPEATED.answered) && repeatable.length > 0;
    if (isRepeated) return this.history.write(url, random.pick(repeatable));
    const unanswered = random.chance(REPEATED.unanswered) ? this.history.keyed.takeUnanswered() : undefined;
    return this.carryOut(url, unanswered ?? this.chooseKeyed(random));
  }

  private async carryOut(url: string, request: WriteRequest): Promise<Answer | null> {
    const answer = await this.history.write(url, request);
    if (answer !== null && answer.status < 300) this.remember(request, answer.body);
    return answer;
  }

  private remember({ operation, path }: WriteRequest, body: Parsed): void {
    const { entities, claims, agents, decisions, policies } = this.ids;
    if (operation === 'createEntity') keep(entities, body.id);
    if (operation === 'addClaim') keep(claims, `entities/${body.entityId}/claims/${body.id}`);
    if (operation === 'createAgent') keep(agents, body.id);
    if (operation === 'propose') keep(decisions, body.id);
    if (operation === 'createPolicy') keep(policies, body.id);
    // Half of them stay known, so that some requests aim at records that no longer exist.
    if (operation === 'deleteEntity' && this.made % 2 === 0) forget(entities, path.slice('entities/'.length));
    if (operation === 'removeClaim' && this.made % 2 === 0) forget(claims, path);
  }

  private chooseKeyed(random: Random): WriteRequest {
    const request = this.choose(random);
    const isKeyed = request.method === 'POST' && random.chance(KEYED);
    return isKeyed ? { ...request, key: `fault-${randomUUID()}` } : request;
  }

  private choose(random: Random): WriteRequest {
    const operation = random.pick(CHOICES);
    const { entities, claims, agents, decisions, policies } = this.ids;
    const aimed = { deleteEntity: entities, removeClaim: claims, approve: decisions, reject: decisions };
    const targets = operation in aimed ? aimed[operation as keyof typeof aimed] : agents;
    if (targets.length === 0 || entities.length === 0 || policies.length === 0) return this.createEntity(random);
    const agent = random.pick(agents);
    const decision = decisions.length > 0 ? random.pick(decisions) : '';
    const requests: Record<Operation, () => WriteRequest> = {
      createEntity: () => this.createEntity(random),
      updateEntity: () => this.updateEntity(random),
      deleteEntity: () => ({ operation, method: 'DELETE', path: `entities/${random.pick(entities)}` }),
      addClaim: () => this.addClaim(random),
      removeClaim: () => ({ operation, method: 'DELETE', path: random.pick(claims) }),
      createAgent: () => this.createAgent(random.chance(0.2)),
      updateAgent: () => this.post(operation, `agents/${agent}`, { description: this.newName() }, 'PATCH'),
      suspendAgent: () => this.post(operation, `agents/${agent}/suspend`, { reason: 'Chosen by the seed.' }),
      resumeAgent: () => this.post(operation, `agents/${agent}/resume`),
      createPolicy: () => this.createPolicy(random, random.pick(EFFECTS)),
      activatePolicy: () => this.post(operation, `policies/${random.pick(policies)}/activate`),
      deactivatePolicy: () => this.post(operation, `policies/${random.pick(policies)}/deactivate`),
      propose: () => this.propose(random, agent),
      approve: () => this.post(operation, `decisions/${decision}/approve`, { approverId: agent, comment: 'Seen.' }),
      reject: () =>
        this.post(operation, `decisions/${decision}/reject`, random.chance(0.5) ? { approverId: agent } : {}),
      execute: () => this.execute(random, agent),
    };
    return requests[operation]();
  }

  private createEntity(random: Random): WriteRequest {
    const properties = { number: random.below(1e9) / 7, text: 'ä€😀'.repeat(random.below(200)), list: [null, true] };
    return this.post('createEntity', 'entities', { type: `type ${random.below(5)}`, name: this.newName(), properties });
  }

  private updateEntity(random: Random): WriteRequest {
    const body = random.chance(0.9) ? { name: this.newName() } : { name: '' };
    return this.post('updateEntity', `entities/${random.pick(this.ids.entities)}`, body, 'PUT');
  }

  private addClaim(random: Random): WriteRequest {
    const value = random.pick<unknown>([random.below(100), true, this.newName(), 'x'.repeat(random.below(9_000))]);
    const body = { predicate: this.newName(), value, context: { confidence: random.below(100) / 100 } };
    return this.post('addClaim', `entities/${random.pick(this.ids.entities)}/claims`, body);
  }

  /** A taken name is refused with 409. */
  private createAgent(isTaken = false): WriteRequest {
    const name = isTaken ? 'agent 1' : `agent ${this.newName()}`;
    return this.post('createAgent', 'agents', { name, capabilities: ACTIONS.slice(0, 2), roles: ['worker'] });
  }

  private createPolicy(random: Random, effect: string): WriteRequest {
    const rules = { subjects: ['*'], actions: [effect === 'allow' ? '*' : 'write'], resources: ['*'] };
    const body = { name: `policy ${random.below(3)}`, version: `1.${this.newName()}`, effect, ...rules };
    return this.post('createPolicy', 'policies', body);
  }

  private propose(random: Random, proposedBy: string): WriteRequest {
    const soon = random.chance(0.1)
      ? { expiresAt: new Date(Date.now() + 500 + random.below(2_000)).toISOString() }
      : {};
    const body = {
      type: 'deployment',
      title: this.newName(),
      proposedBy,
      riskLevel: random.pick(RISK_LEVELS),
      ...soon,
    };
    return this.post('propose', 'decisions', body);
  }

  private execute(random: Random, agent: string): WriteRequest {
    const resource = { resourceType: 'entity', resourceId: `entities/${random.pick(this.ids.entities)}` };
    const body = { action: random.pick(ACTIONS), ...resource, parameters: { attempt: this.newName() } };
    return this.post('execute', `agents/${agent}/execute`, body);
  }

  private post(
    operation: Operation,
    path: string,
    body: WriteRequest['body'] = {},
    method: WriteRequest['method'] = 'POST',
  ): WriteRequest {
    return { operation, method, path, body };
  }

  /** Never used twice, so that content identifies its writer. */
  private newName(): string {
    this.made += 1;
    return String(this.made);
  }
}

function keep(list: string[], item: string): void {
  list.push(item);
  if (list.length > REMEMBERED) list.shift();
}

function forget(list: string[], item: string): void {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
}
