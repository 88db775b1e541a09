import { Injectable } from '@nestjs/common';
import type { CallerRefusal } from '../../core/errors/domain-error';
import type { DenialReason } from '../../core/errors/error-codes';
import type { JsonObject } from '../../core/json/json-value';
import { withoutRefusal, type Caller } from '../../ledger/kinds/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { Refusal } from '../../ledger/commands/ledger-transaction';
import type { ServiceRequest } from '../request/service-request';

/** Milliseconds in which a caller refused for one reason adds only one entry; more entries could fill the disk. */
const INTERVAL_MS = 1_000;
/** Most characters of a reported id or name. */
const MAX_TARGET_CHARACTERS = 200;
/** The form of the ids of records. */
const ID = /^[a-z]{2,8}_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
/** Number of remembered callers and reasons above which expired ones are dropped. */
const REMEMBERED = 1_000;

/** Knows the agents that are registered. */
export abstract class RegisteredAgents {
  /** An agent by id or name; undefined if there is none. */
  abstract watch(idOrName: string): Promise<object | undefined>;
}

/** Records refusals of callers as `access.denied`. */
@Injectable()
export class AccessDenials {
  /** Number of refusals, recorded or not. */
  readonly counts = new Map<DenialReason, number>();
  /** Monotonic milliseconds, by caller and reason. */
  private readonly recordedAt = new Map<string, number>();

  constructor(
    private readonly ledger: LedgerService,
    private readonly agents: RegisteredAgents,
  ) {}

  /**
   * Resolves with the error of the response: the refusal itself once it is recorded, or the error that recording it has
   * failed.
   */
  async note(request: ServiceRequest, refusal: CallerRefusal): Promise<unknown> {
    const { caller } = request;
    const { reason } = refusal.extras;
    if (caller === undefined || reason === undefined) return refusal;
    this.counts.set(reason, (this.counts.get(reason) ?? 0) + 1);
    const key = JSON.stringify([caller.actor.type, caller.actor.id, reason]);
    const now = performance.now();
    const before = this.recordedAt.get(key);
    if (before !== undefined && now - before < INTERVAL_MS) return refusal;
    if (this.recordedAt.size >= REMEMBERED) this.forget(now);
    this.recordedAt.set(key, now);
    const error: unknown = await this.record(request, caller, refusal).catch((thrown: unknown) => thrown);
    // The refusal was not recorded, so the next one must be.
    if (error !== refusal) this.recordedAt.delete(key);
    return error;
  }

  /** Rejects with the refusal itself, once its entry is written. */
  private async record(request: ServiceRequest, caller: Caller, refusal: CallerRefusal): Promise<Error> {
    const { actor, agentId } = caller;
    const subjectType = actor.type === 'token' ? 'token' : 'api_key';
    const note = {
      agentId,
      reason: refusal.extras.reason ?? null,
      details: detailsOf(request, refusal, await this.targetIn(request)),
    };
    return this.ledger.write<Error>(withoutRefusal(caller), async (transaction) => {
      transaction.recordAccessDenied({ type: subjectType, id: actor.id }, note);
      return new Refusal(refusal);
    });
  }

  /**
   * Returns the id in the path, or the name of an agent. Other text of a path could be personal, and no erasure would
   * reach it.
   */
  private async targetIn({ params: { id } }: ServiceRequest): Promise<string | undefined> {
    if (typeof id !== 'string' || id.length > MAX_TARGET_CHARACTERS) return undefined;
    return ID.test(id) || (await this.agents.watch(id)) !== undefined ? id : undefined;
  }

  private forget(now: number): void {
    for (const [key, at] of this.recordedAt) if (now - at >= INTERVAL_MS) this.recordedAt.delete(key);
  }
}

function detailsOf(request: ServiceRequest, { scope }: CallerRefusal, target: string | undefined): JsonObject {
  return {
    method: request.method,
    route: request.template ?? null,
    ...(scope !== null && { scope }),
    // There may be no such record.
    ...(target !== undefined && { target }),
  };
}
