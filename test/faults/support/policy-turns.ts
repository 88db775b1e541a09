import { setTimeout as sleep } from 'node:timers/promises';
import type { History } from './history';

const ACTION = 'turn';
/** Milliseconds. */
const PAUSE = 20;

/**
 * A client of several replicas that alternately allows and denies an action. Once the denial has been answered, no
 * replica may authorise the action, and none may answer that there is no such policy.
 */
export class PolicyTurns {
  /** Outdated answers of the replicas. */
  readonly stale: string[] = [];
  /** Statuses with which the actions were answered. */
  readonly statuses = new Map<number, number>();
  private agent = '';
  private turn = 0;
  private policy: string | null = null;
  private isDenied = false;

  /** @param urls of the replicas. */
  constructor(
    private readonly history: History,
    private readonly urls: readonly string[],
  ) {}

  async prepare(): Promise<void> {
    const body = { name: 'of the turns', capabilities: [ACTION] };
    this.agent = await this.create('createAgent', 'agents', () => body);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.take(this.isDenied ? 'allow' : 'deny');
      for (let looks = 0; looks < 3; looks += 1) await this.look();
      await sleep(PAUSE);
    }
  }

  /** Returns once a replica has confirmed the change. */
  async take(effect: 'allow' | 'deny'): Promise<void> {
    this.isDenied = false;
    const rules = { effect, subjects: ['*'], actions: [ACTION], resources: ['*'] };
    this.policy = await this.create('createPolicy', 'policies', () => ({
      name: 'turns',
      version: `1.${this.turn}`,
      ...rules,
    }));
    this.isDenied = effect === 'deny';
  }

  /** Requests the action and the policy from every replica. */
  async look(): Promise<void> {
    await Promise.all(this.urls.map((url) => this.lookAt(url)));
  }

  private async lookAt(url: string): Promise<void> {
    const body = { action: ACTION, resourceType: 'document', resourceId: 'a' };
    const path = `agents/${this.agent}/execute`;
    const executed = await this.history.write(url, { operation: 'execute', method: 'POST', path, body });
    const status = executed?.status ?? 0;
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    if (this.isDenied && status === 200) this.stale.push(`${url} authorised what turn ${this.turn} denies`);
    const read = await this.history.read(url, `policies/${this.policy}`);
    if (read?.status === 404) this.stale.push(`${url} does not know the policy of turn ${this.turn}`);
    if (read?.status === 200 && read.body.status !== 'active')
      this.stale.push(`${url} shows the policy of turn ${this.turn} as ${read.body.status}`);
  }

  /** Tries one replica after another until one has created it; a request refused under load has created nothing. */
  private async create(
    operation: 'createAgent' | 'createPolicy',
    path: string,
    body: () => Record<string, unknown>,
  ): Promise<string> {
    for (;;) {
      this.turn += 1;
      const url = this.urls[this.turn % this.urls.length] ?? '';
      const answer = await this.history.write(url, { operation, method: 'POST', path, body: body() });
      if (answer?.status === 201) return answer.body.id;
      await sleep(PAUSE);
    }
  }
}
