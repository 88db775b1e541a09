import { Injectable } from '@nestjs/common';
import { callerRefused, conflict, permissionDenied, requireFound } from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';
import type { Caller } from '../../ledger/kinds/caller';
import { LedgerService } from '../../ledger/ledger.service';
import type { LastEntry, ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import { EntryReader } from '../../ledger/reading/entry-reader';
import { RecordReader } from '../../ledger/reading/record-reader';
import { type Agent, AGENT } from '../agents/agent.entity';
import { agentLookup, findAgent } from '../agents/find-agent';
import { ActivePolicies } from '../policies/active-policies';
import type { ReviewAccessRequest } from './dto/access.requests';
import type { AccessResponse, AccessReviewResponse, UnreviewedAgentsResponse } from './dto/access.response';

const REVIEWED = 'agent.access_reviewed';
const DAY = 24 * 60 * 60 * 1000;
/** Most agents that are listed. */
const MAX_LISTED = 100;
/** Number of agents whose reviews are read at once. */
const CHUNK_SIZE = 100;

/** The last review of an agent's access: by whom, and when. */
export type LastReview = Pick<AccessResponse, 'reviewedBy' | 'reviewedAt'>;

/** Reviews of the access of agents by people, read from the entries. */
@Injectable()
export class AccessReviews {
  constructor(
    private readonly ledger: LedgerService,
    private readonly policies: ActivePolicies,
    private readonly entries: EntryReader,
    private readonly records: RecordReader,
  ) {}

  /** @param upTo sequence of an entry; undefined for now */
  async find(agentId: string, upTo?: number): Promise<LastReview> {
    return lastReview((await this.entries.lastOfEach(REVIEWED, [agentId], upTo)).get(agentId));
  }

  /**
   * Records that a person has seen what the agent may do. Repeating it within a day adds nothing.
   * @throws NOT_FOUND; PERMISSION_DENIED unless the caller is a person, and not the agent; CONFLICT if the access has
   * changed
   */
  review(caller: Caller, idOrName: string, { rules, revision }: ReviewAccessRequest): Promise<AccessReviewResponse> {
    return this.ledger.withLookups(agentLookup(idOrName)).write(caller, async (transaction) => {
      const agent = requireFound(await findAgent(transaction, idOrName), 'agent');
      const { id: reviewedBy } = await requirePerson(transaction, agent);
      if (revision !== agent.revision) throw changed(`the agent is at revision ${agent.revision}`);
      if (rules !== this.policies.rules) throw changed('other policies are in force');
      const { now: reviewedAt } = transaction;
      const details = { rules, revision, reviewedBy };
      const review = { agentId: agent.id, revision, rules, reviewedBy, reviewedAt };
      const last = await transaction.lastEntryOf(AGENT, agent.id, [REVIEWED]);
      if (last !== undefined && isSame(last, details, reviewedAt)) return { ...review, reviewedAt: last.timestamp };
      transaction.record(AGENT, agent, { action: REVIEWED, agentId: agent.id, details });
      return review;
    });
  }

  /** Lists agents whose current access nobody has reviewed. */
  async unreviewed(caller: Caller): Promise<UnreviewedAgentsResponse> {
    await this.policies.catchUp();
    const { rules } = this.policies;
    const data: UnreviewedAgentsResponse['data'][number][] = [];
    const range = { conditions: [], order: 'desc', position: null, atOnce: CHUNK_SIZE } as const;
    for await (const agents of this.records.columns(AGENT, ['name', 'revision'], range, caller)) {
      const reviews = await this.entries.lastOfEach(
        REVIEWED,
        agents.map(({ id }) => id),
      );
      for (const { id: agentId, name, revision } of agents) {
        const last = reviews.get(agentId);
        if (last?.details?.['rules'] === rules && last.details['revision'] === revision) continue;
        if (data.length === MAX_LISTED) return { data, more: true };
        data.push({ agentId, revision, ...lastReview(last), name });
      }
    }
    return { data, more: false };
  }
}

function lastReview(last: LastEntry | undefined): LastReview {
  const reviewedBy = last?.details?.['reviewedBy'];
  if (last === undefined || typeof reviewedBy !== 'string') return { reviewedBy: null, reviewedAt: null };
  return { reviewedBy, reviewedAt: last.timestamp };
}

/** Returns the person who calls. @throws PERMISSION_DENIED */
async function requirePerson(transaction: ServiceTransaction, { id }: Agent): Promise<Agent> {
  const { agentId } = transaction.caller;
  if (agentId === null) throw callerRefused('caller_not_bound');
  if (agentId === id) throw callerRefused('own_agent');
  const agent = await transaction.find(AGENT, agentId);
  if (agent?.kind === 'human') return agent;
  throw permissionDenied('not_an_approver', 'Only a person can review what an agent may do.');
}

function isSame({ timestamp, details }: LastEntry, review: JsonObject, now: string): boolean {
  const isRecent = Date.parse(now) - Date.parse(timestamp) < DAY;
  return isRecent && Object.entries(review).every(([name, value]) => details?.[name] === value);
}

function changed(what: string): Error {
  return conflict(`What the agent may do has changed: ${what}. Look at its access again, and review that.`);
}
