import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
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

/** Milliseconds that Slack has for each. */
const MAX_REPLY_MS = 10_000;
/** Milliseconds between two lines about refused clicks. */
const MINUTE = 60_000;
/** Milliseconds for clicks under way when the service stops. */
const GRACE_MS = 2_000;
const MAX_CLICKS = 1_000;
const UNKNOWN_OUTCOME = 'The service failed, and may not have decided this. Click again: a review counts once.';

/** Shown only to the person who clicked. */
function privately(text: string): JsonObject {
  const blocks = [{ type: 'section', text: plain(escapeForSlack(text).slice(0, 2_900)) }];
  return { response_type: 'ephemeral', replace_original: false, text: 'Nothing was decided', mrkdwn: false, blocks };
}

/** In place of the message. */
function inPlace(message: JsonObject): JsonObject {
  return { ...message, replace_original: true };
}

/** Tells Slack what came of clicks. Its request was answered before, and the decision stands, whether this arrives or not. */
@Injectable()
export class SlackReplies {
  private readonly logger = new Logger('Slack');
  private readonly over = new AbortController();

  /** Ends what is under way. */
  stop(): void {
    this.over.abort();
  }

  /** In this order. A failure is logged. @param url one of Slack's. */
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
      signal: AbortSignal.any([this.over.signal, AbortSignal.timeout(MAX_REPLY_MS)]),
    });
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`Slack answered ${answer.status}`);
  }
}

/** The agent with the Slack id of whoever clicked. */
interface SlackPerson extends Pick<Agent, 'id' | 'name'> {
  readonly current: CurrentAgent;
}

/** People approve and reject in Slack, by all rules of a reviewer with a key of their own. */
@Injectable()
export class SlackService implements OnModuleDestroy {
  private readonly logger = new Logger('Slack');
  /** The clicks that Slack was told are received, until their outcome has been sent. */
  private readonly clicks = new Set<Promise<void>>();
  /** Monotonic milliseconds of the last line about a refused click. */
  private loggedAt = -Infinity;

  constructor(
    private readonly configuration: Configuration,
    private readonly records: RecordReader,
    private readonly agents: AgentCache,
    private readonly reviews: DecisionReviewsService,
    private readonly bodies: WebhookBodies,
    private readonly replies: SlackReplies,
  ) {}

  /** Requests are refused by now. What was clicked before is decided, and Slack is told if it takes that in time. */
  async onModuleDestroy(): Promise<void> {
    await withTimeout(Promise.all(this.clicks), GRACE_MS, undefined);
    this.replies.stop();
    if (this.clicks.size > 0) this.logger.error(`The service stops with ${this.clicks.size} clicks under way.`);
  }

  /**
   * Accepts a click. It is decided afterwards, since Slack waits for three seconds only.
   * @throws UNAUTHORIZED if Slack has not signed it, or too long ago; VALIDATION_ERROR; UNAVAILABLE if too many clicks are
   * under way.
   */
  accept(request: SignedRequest, origin: Origin): void {
    const { slackSigningSecret: secret } = this.configuration;
    const fault = secret === null ? 'SLACK_SIGNING_SECRET is not set' : signatureFault(secret, request, Date.now());
    if (fault !== undefined) throw this.refused(fault);
    const click = readClick(request.body);
    if (click === null) return;
    if (this.clicks.size >= MAX_CLICKS) throw unavailable('Too many clicks in Slack are being decided.');
    const work = this.decide(click, origin).finally(() => this.clicks.delete(work));
    this.clicks.add(work);
  }

  /** Does what was clicked, and tells Slack what came of it. */
  private async decide(click: SlackClick, origin: Origin): Promise<void> {
    const replies = await this.repliesTo(click, origin).catch((error: unknown) => {
      this.logger.error(`A click in Slack on ${click.decisionId} failed: ${errorMessage(error)}`);
      return [privately(UNKNOWN_OUTCOME)];
    });
    if (click.responseUrl !== null) await this.replies.send(click.responseUrl, replies);
    else
      this.logger.warn(`The outcome of a click on ${click.decisionId} is told to nobody: response_url is not Slack's.`);
  }

  /** Logs why: one line a minute, or strangers could flood the log. */
  private refused(why: string): DomainError {
    const now = performance.now();
    if (now - this.loggedAt >= MINUTE) {
      this.loggedAt = now;
      this.logger.warn(`A click of Slack was refused: ${why}. Such a line is logged once a minute at most.`);
    }
    return notBySlack();
  }

  private async repliesTo(click: SlackClick, origin: Origin): Promise<readonly JsonObject[]> {
    const { slackId } = click;
    const person = await this.personOf(slackId);
    if (person === undefined)
      return [
        privately(`Nobody here has the Slack id ${slackId}. Somebody with the scope admin can set it (slackId).`),
      ];
    try {
      return [inPlace(await this.done(click, person, origin))];
    } catch (error) {
      if (!(error instanceof DomainError) || error.code === 'UNAVAILABLE') throw error;
      const notice = privately(error.message);
      return error.code === 'CONFLICT' ? [inPlace(await this.messageOf(click)), notice] : [notice];
    }
  }

  /** The message afterwards. */
  private async done(click: SlackClick, person: SlackPerson, origin: Origin): Promise<JsonObject> {
    const { action, decisionId, comment } = click;
    if (action === 'reject') return this.messageOf(click, true);
    const verdict = action === 'approve' ? 'approve' : 'reject';
    const review = { verdict, approver: person.id, comment: verdict === 'reject' ? comment : null } as const;
    const decision = await this.reviews.review(callerFor(click.slackId, person, origin), decisionId, review);
    return this.bodies.buildForDecision(decision, { reviewer: person.name });
  }

  /** The message about the decision as it is now. @throws NOT_FOUND; CONFLICT if it is settled and a comment is needed. */
  private async messageOf({ decisionId }: SlackClick, needsComment = false): Promise<JsonObject> {
    const decision = requireFound(await this.records.find(DECISION, decisionId, REVIEWER), 'decision');
    const settled = needsComment ? finalityConflict(decision) : null;
    if (settled !== null) throw settled;
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
/** The caller as whom the decision of a message is read. */
const REVIEWER = { agentId: null, effectiveScopes: expandScopes(SCOPES) };

/** Reviews check whether the person is suspended, and record the refusal. */
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
