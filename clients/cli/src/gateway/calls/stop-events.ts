import { setTimeout as sleep } from 'node:timers/promises';
import { GovernanceError } from '../../../../typescript/src/governance-error.js';
import { eventsFrom } from '../../../../typescript/src/events.js';
import type { AuditEntry } from '../../../../typescript/src/index.js';
import { Transport } from '../../../../typescript/src/transport.js';
import type { GatewayLog } from '../run/log.js';
import type { KnownCallers } from './known-callers.js';
import type { OwnKey } from './own-key.js';
import type { RunningCalls } from '../../mcp/running-calls.js';

const ACTIONS = ['stop.*', 'agent.suspended', 'api_key.revoked', 'api_key.expired'];
/** Milliseconds after a failure before the events are followed again. */
const PAUSE_MS = 500;
/** Minimum milliseconds between two checks of the running calls while the service refuses to send events. */
const CHECK_MS = 5_000;
/** HTTP statuses with which the service refuses the gateway's own key. */
const KEY_REFUSALS: ReadonlySet<number | null> = new Set([401, 403]);

export interface StopEventsOptions {
  readonly url: string;
  /** The gateway's own key, with the scope `report`. */
  readonly key: string;
  readonly ownKey: OwnKey;
  readonly calls: RunningCalls;
  readonly callers: KnownCallers;
  readonly log: GatewayLog;
}

/**
 * Follows the events by which the service announces that running calls have to end. Checks all running calls whenever
 * the connection opens, because events may have been missed before.
 */
export class StopEvents {
  private readonly ending = new AbortController();
  private lastCheck = -Infinity;

  constructor(private readonly options: StopEventsOptions) {}

  /** Follows the events until `close` is called, and connects again after each failure. */
  async follow(): Promise<void> {
    const { signal } = this.ending;
    const { url, key, ownKey, log } = this.options;
    let wasLost = false;
    while (!this.isClosed()) {
      try {
        const transport = new Transport({ url, key, patience: 0 });
        const events = eventsFrom(transport, { actions: ACTIONS, signal }, () => {
          wasLost = false;
          ownKey.isRefused = false;
          void this.check();
        });
        for await (const event of events) this.apply(event);
      } catch (error) {
        if (this.isClosed()) return;
        if (!wasLost) log.warn('Stops cannot be followed now', error);
        wasLost = true;
        this.handleError(error);
        await sleep(PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }

  close(): void {
    this.ending.abort();
  }

  private isClosed(): boolean {
    return this.ending.signal.aborted;
  }

  private apply({ action, subjectId }: Pick<AuditEntry, 'action' | 'subjectId'>): void {
    const { calls, callers } = this.options;
    if (action === 'stop.created') void this.check();
    if (action === 'stop.lifted') return;
    callers.clear();
    if (action === 'agent.suspended') calls.stopAgent(subjectId);
    if (action.startsWith('api_key.')) calls.stopKey(subjectId);
  }

  /**
   * Handles an error of following. If the service itself refuses the events, notes whether it refuses the gateway's own
   * key, and checks the running calls once with their callers' keys.
   */
  private handleError(error: unknown): void {
    if (!(error instanceof GovernanceError) || error.status === null || error.code === 'UNEXPECTED_ANSWER') return;
    const { calls, ownKey } = this.options;
    ownKey.isRefused ||= KEY_REFUSALS.has(error.status);
    if (performance.now() - this.lastCheck < CHECK_MS) return;
    this.lastCheck = performance.now();
    void calls.checkOnce();
  }

  private async check(): Promise<void> {
    const { calls, log } = this.options;
    let hasFault = false;
    await calls.checkAll({
      signal: this.ending.signal,
      onFault: (error) => {
        if (!hasFault) log.warn('Running calls cannot be checked for stops now', error);
        hasFault = true;
      },
    });
  }
}
