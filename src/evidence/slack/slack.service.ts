import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { withTimeLimit } from '../../core/concurrency/time-limit';
import { withTimeout } from '../../core/concurrency/with-timeout';
import { DomainError, requireFound, errorMessage, unauthorized, unavailable } from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';
import { type Agent, AGENT } from '../../governance/agents/agent.entity';
import { AgentCache, type CurrentAgent } from '../../governance/agents/agents.service';
import { finalityConflict } from '../../governance/decisions/decision-rules';
import { DecisionReviewsService } from '../../governance/decisions/decision-reviews.service';
import { DECISION } from '../../governance/decisions/decision.entity';
import { type Caller, callerOf, expandScopes, type Origin } from '../../ledger/kinds/caller';
import { RecordReader } from '../../ledger/reading/record-reader';
import { WebhookBodies } from '../webhooks/messages/webhook-bodies';
import { readClick, type SignedRequest, type SlackClick, signatureFault } from './slack-click';
import { escapeForSlack, plain } from '../webhooks/messages/chat-messages';

/** Milliseconds that Slack has to accept one reply. */
const MAX_REPLY_MS = 10_000;
/** Milliseconds between two log lines about refused clicks. */
const MIN_LOG_INTERVAL_MS = 60_000;
/** Milliseconds that a stopping service waits for clicks that are being decided. */
const GRACE_MS = 2_000;
const MAX_CLICKS = 1_000;
const UNKNOWN_OUTCOME = 'The service failed, and may not have decided this. Click again: a review counts once.';

/** A reply that only the person who clicked sees. */
function privateReply(text: string): JsonObject {
  const blocks = [{ type: 'section', text: plain(escapeForSlack(text).slice(0, 2_900)) }];
  return { response_type: 'ephemeral', replace_original: false, text: 'Nothing was decided', mrkdwn: false, blocks };
}

/** Returns a reply that replaces the clicked message. */
function replacingReply(message: JsonObject): JsonObject {
  return { ...message, replace_original: true };
}

/**
 * Sends Slack the outcomes of clicks, after Slack's requests were answered. A decision stands even if sending fails.
 */
@Injectable()
export class SlackReplies {
  private readonly logger = new Logger('Slack');
  private readonly stopping = new AbortController();

  /** Aborts replies that are being sent. */
  stop(): void {
    this.stopping.abort();
  }

  /** Sends the replies in order; after a failure, logs it and stops. @param url URL at a host of Slack */
  async send(url: string, replies: readonly JsonObject[]): Promise<void> {
    try {
      for (const reply of replies) await this.sendReply(url, reply);
    } catch (error) {
      this.logger.warn(`The outcome of a click was not sent to Slack: ${errorMessage(error)}`);
    }
  }

  private async sendReply(url: string, reply: JsonObject): Promise<void> {
    const answer = await fetch(url, {
      method: 'POST',
      redirect: 'error',
      body: JSON.stringify(reply),
      headers: { 'Content-Type': 'application/json' },
      signal: withTimeLimit(this.stopping.signal, MAX_REPLY_MS),
    });
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`Slack answered ${answer.status}`);
  }
}

/** The agent with the Slack id of the person who clicked. */
interface SlackPerson extends Pick<Agent, 'id' | 'name'> {
  readonly current: CurrentAgent;
}

/** Lets people approve and reject in Slack, by the rules for a reviewer with their own key. */
@Injectable()
export class SlackService implements OnModuleDestroy {
  private readonly logger = new Logger('Slack');
  /** Accepted clicks whose outcome has not been sent yet. */
  private readonly clicks = new Set<Promise<void>>();
  /** Monotonic milliseconds of the last log line about a refused click. */
  private loggedAt = -Infinity;

  constructor(
    private readonly configuration: Configuration,
    private readonly records: RecordReader,
    private readonly agents: AgentCache,
    private readonly reviews: DecisionReviewsService,
    private readonly bodies: WebhookBodies,
    private readonly replies: SlackReplies,
  ) {}

  /** Waits for the clicks that are being decided, then aborts replies to Slack. New requests are already refused. */
  async onModuleDestroy(): Promise<void> {
    await withTimeout(Promise.all(this.clicks), GRACE_MS, undefined);
    this.replies.stop();
    if (this.clicks.size > 0) this.logger.error(`The service stops with ${this.clicks.size} clicks under way.`);
  }

  /**
   * Accepts a click. It is decided afterwards, because Slack waits for three seconds only.
   * @throws UNAUTHORIZED without a secret, or if the signature is wrong or over five minutes old; VALIDATION_ERROR;
   * UNAVAILABLE if too many clicks are being decided
   */
  accept(request: SignedRequest, origin: Origin): void {
    const { slackSigningSecret: secret } = this.configuration;
    const fault = secret === null ? 'SLACK_SIGNING_SECRET is not set' : signatureFault(secret, request, Date.now());
    if (fault !== undefined) throw this.logRefusal(fault);
    const click = readClick(request.body);
    if (click === null) return;
    if (this.clicks.size >= MAX_CLICKS) throw unavailable('Too many clicks in Slack are being decided.');
    const work = this.decide(click, origin).finally(() => this.clicks.delete(work));
    this.clicks.add(work);
  }

  /** Carries out a click and sends Slack the outcome. */
  private async decide(click: SlackClick, origin: Origin): Promise<void> {
    const replies = await this.repliesTo(click, origin).catch((error: unknown) => {
      this.logger.error(`A click in Slack on ${click.decisionId} failed: ${errorMessage(error)}`);
      return [privateReply(UNKNOWN_OUTCOME)];
    });
    if (click.responseUrl !== null) await this.replies.send(click.responseUrl, replies);
    else
      this.logger.warn(
        `The outcome of a click on ${click.decisionId} was not sent: the click has no response_url at a host of Slack.`,
      );
  }

  /** Logs the fault, at most one line a minute, since strangers could flood the log; returns the error to throw. */
  private logRefusal(fault: string): DomainError {
    const now = performance.now();
    if (now - this.loggedAt >= MIN_LOG_INTERVAL_MS) {
      this.loggedAt = now;
      this.logger.warn(`A click of Slack was refused: ${fault}. Such a line is logged once a minute at most.`);
    }
    return notBySlack();
  }

  private async repliesTo(click: SlackClick, origin: Origin): Promise<readonly JsonObject[]> {
    const { slackId } = click;
    const person = await this.personOf(slackId);
    if (person === undefined)
      return [
        privateReply(`Nobody here has the Slack id ${slackId}. Somebody with the scope admin can set it (slackId).`),
      ];
    try {
      return [replacingReply(await this.carryOut(click, person, origin))];
    } catch (error) {
      if (!(error instanceof DomainError) || error.code === 'UNAVAILABLE') throw error;
      const notice = privateReply(error.message);
      return error.code === 'CONFLICT' ? [replacingReply(await this.messageOf(click)), notice] : [notice];
    }
  }

  /** Carries out a click and returns the new message; a reject without a comment only asks for one. */
  private async carryOut(click: SlackClick, person: SlackPerson, origin: Origin): Promise<JsonObject> {
    const { action, decisionId, comment } = click;
    if (action === 'reject') return this.messageOf(click, true);
    const verdict = action === 'approve' ? 'approve' : 'reject';
    const review = { verdict, approver: person.id, comment: verdict === 'reject' ? comment : null } as const;
    const decision = await this.reviews.review(callerFor(click.slackId, person, origin), decisionId, review);
    return this.bodies.buildForDecision(decision, { reviewer: person.name });
  }

  /**
   * Returns the message about the decision as it is now. @throws NOT_FOUND; CONFLICT if it is settled and a comment is
   * needed
   */
  private async messageOf({ decisionId }: SlackClick, needsComment = false): Promise<JsonObject> {
    const decision = requireFound(await this.records.find(DECISION, decisionId, REVIEWER), 'decision');
    const finality = needsComment ? finalityConflict(decision) : null;
    if (finality !== null) throw finality;
    return this.bodies.buildForDecision(decision, { needsComment });
  }

  private async personOf(slackId: string): Promise<SlackPerson | undefined> {
    const conditions = [{ column: 'slackId', comparison: 'equals', value: slackId }] as const;
    const request = { conditions, limit: 1, offset: 0, order: 'asc', position: null, total: 0 } as const;
    const [agent]: readonly Agent[] = (await this.records.page(AGENT, request)).rows;
    const current = agent === undefined ? undefined : await this.agents.watch(agent.id);
    return agent === undefined || current === undefined ? undefined : { id: agent.id, name: agent.name, current };
  }
}

const SCOPES = ['review'] as const;
/** The caller that reads the decision of a message. */
const REVIEWER = { agentId: null, effectiveScopes: expandScopes(SCOPES) };

/** Makes the caller. Its `refusal` ignores a suspension, because the review checks it, and records that refusal. */
function callerFor(slackId: string, { id, current }: SlackPerson, origin: Origin): Caller {
  const identity = {
    actor: { type: 'slack', id: slackId },
    agentId: id,
    principals: [],
    scopes: SCOPES,
    effectiveScopes: REVIEWER.effectiveScopes,
    expiresAt: null,
    refusal: () => (current()?.slackId === slackId ? null : unauthorized()),
  } as const;
  return callerOf(identity, origin);
}

function notBySlack(): DomainError {
  return new DomainError('UNAUTHORIZED', 'The request must be signed by Slack, not more than five minutes ago.');
}
