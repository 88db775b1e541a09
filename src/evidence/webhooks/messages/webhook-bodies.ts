import { Injectable } from '@nestjs/common';
import { Configuration } from '../../../core/config/configuration';
import type { JsonObject } from '../../../core/json/json-value';
import { AGENT } from '../../../governance/agents/agent.entity';
import { isChangeReview } from '../../../governance/decisions/changes/change';
import { type Decision, DECISION } from '../../../governance/decisions/decision.entity';
import { EXECUTION } from '../../../governance/executions/execution.entity';
import { SYSTEM_CALLER } from '../../../ledger/kinds/caller';
import type { ParsedListedEntry } from '../../../ledger/reading/entry-reader';
import { RecordReader } from '../../../ledger/reading/record-reader';
import { AuditEntryResponse } from '../../audit/dto/audit-entry.response';
import type { ApproverGroup } from '../../../governance/policies/approval/approval-requirement';
import type { Webhook } from '../webhook.entity';
import { type DecisionFacts, type Escape, isForClicks, type Message, buildMessage, testMessage } from './message';
import { type EntrySeal, ocsfEvent } from './ocsf-event';
import { type ReviewPrompt, escapeForSlack, slackMessage, escapeForTeams, teamsMessage } from './chat-messages';

interface Target {
  readonly escape: Escape;
  readonly maxLines?: number;
  readonly render: (message: Message, prompt: ReviewPrompt | null) => JsonObject;
}

/** Most lines in a message, because Teams refuses more than 28 KB, and each line is a separate block. */
const MAX_TEAMS_LINES = 80;

const MESSAGES: Readonly<Record<'slack' | 'teams', Target>> = {
  slack: { escape: escapeForSlack, render: slackMessage },
  teams: { escape: escapeForTeams, maxLines: MAX_TEAMS_LINES, render: teamsMessage },
};

type Formatted = Pick<Webhook, 'format' | 'detail' | 'buttons'>;

/** Makes the bodies of deliveries, in the format of a webhook. */
@Injectable()
export class WebhookBodies {
  constructor(
    private readonly records: RecordReader,
    private readonly configuration: Configuration,
  ) {}

  /** False if the webhook names approvers, and the decision has others. */
  async isForChannel(
    { approvers }: Pick<Webhook, 'approvers'>,
    { subjectId, timestamp }: ParsedListedEntry,
  ): Promise<boolean> {
    if (approvers.length === 0) return true;
    const decision = await this.records.find(DECISION, subjectId, SYSTEM_CALLER);
    return decision?.approvers?.some((group) => namesOneOf(group, approvers, timestamp)) === true;
  }

  /** Builds a body with the current state of the entry's decision: contents that were erased meanwhile are not sent. */
  async build(webhook: Formatted, entry: ParsedListedEntry): Promise<Buffer> {
    const { format, detail, buttons } = webhook;
    const data = { ...AuditEntryResponse.from(entry), ...sealOf(entry) };
    if (format === 'event') return bytesOf({ type: entry.action, timestamp: entry.timestamp, data });
    if (format === 'ocsf') return bytesOf(ocsfEvent(data));
    const { escape, maxLines, render }: Target = MESSAGES[format];
    const facts = await this.factsOf(entry);
    const { publicUrl, mailZone: timeZone } = this.configuration;
    const prompt = buttons && PROMPTING.has(entry.action) ? this.promptFor(facts.decision) : null;
    return bytesOf(render(buildMessage(entry, facts, { detail, publicUrl, timeZone, escape, maxLines }), prompt));
  }

  /**
   * Returns the messages of a mail about a waiting decision; none once it is settled, unless it is about an emergency.
   */
  async messagesForWaiting(decisionId: string, escape: Escape): Promise<Message[]> {
    const decision = await this.records.find(DECISION, decisionId, SYSTEM_CALLER);
    if (decision === undefined) return [];
    return decision.status === 'proposed' || isChangeReview(decision)
      ? [await this.messageAbout(decision, null, escape)]
      : [];
  }

  /** Builds the message with which Slack replaces a clicked one. */
  async buildForDecision(
    decision: Decision,
    { reviewer = null, needsComment }: { reviewer?: string | null; needsComment?: boolean },
  ): Promise<JsonObject> {
    const message = await this.messageAbout(decision, reviewer, escapeForSlack);
    const prompt = this.promptFor(decision);
    return slackMessage(message, prompt === null ? null : { ...prompt, needsComment });
  }

  buildTest({ format }: Formatted, id: string, timestamp: string): Buffer {
    const type = 'webhook.test';
    if (format === 'event') return bytesOf({ type, timestamp, data: {} });
    if (format !== 'ocsf') return bytesOf(MESSAGES[format].render(testMessage(this.configuration.publicUrl), null));
    const none = { agentId: null, entityId: null, reason: null, details: null, requestId: null, ip: null };
    const subject = { subjectType: 'webhook', subjectId: id, actor: { type: 'system', id: 'service' } };
    return bytesOf(ocsfEvent({ id, timestamp, action: type, outcome: 'success', ...subject, ...none }));
  }

  /** Makes a message from the current state of a decision. */
  private async messageAbout(decision: Decision, reviewer: string | null, escape: Escape): Promise<Message> {
    const { status, reviews } = decision;
    const action = `decision.${status === 'proposed' && reviews.length > 0 ? 'reviewed' : status}`;
    const entry = { action, reason: null, outcome: 'success' };
    const { publicUrl, mailZone: timeZone } = this.configuration;
    const facts = await this.factsOfDecision(decision, reviewer);
    return buildMessage(entry, facts, { detail: 'full', publicUrl, timeZone, escape });
  }

  private async factsOf({ subjectType, subjectId, agentId }: ParsedListedEntry): Promise<DecisionFacts> {
    const isDecision = subjectType === DECISION.subjectType;
    const decision = isDecision ? await this.records.find(DECISION, subjectId, SYSTEM_CALLER) : undefined;
    if (decision === undefined) {
      const proposer = await this.agentName(agentId ?? subjectId);
      return { decision: null, execution: null, proposer, reviewer: null };
    }
    const isReview = agentId !== null && agentId !== decision.proposedBy;
    return this.factsOfDecision(decision, isReview ? await this.agentName(agentId) : null);
  }

  private async factsOfDecision(decision: Decision, reviewer: string | null): Promise<DecisionFacts> {
    const { executionId, proposedBy, actor } = decision;
    const execution = executionId === null ? undefined : await this.records.find(EXECUTION, executionId, SYSTEM_CALLER);
    const proposer = proposedBy === null ? keyName(actor) : await this.agentName(proposedBy);
    return { decision, execution: execution ?? null, proposer, reviewer };
  }

  private promptFor(decision: Decision | null): ReviewPrompt | null {
    if (this.configuration.slackSigningSecret === null || decision === null || !isForClicks(decision)) return null;
    return { decisionId: decision.id };
  }

  private async agentName(agentId: string): Promise<string> {
    return (await this.records.find(AGENT, agentId))?.name ?? agentId;
  }
}

/** Names a key that is bound to nobody. */
function keyName(actor: Decision['actor']): string {
  return actor === null || actor.id === 'env' ? "the operator's key" : `the key ${actor.id}`;
}

/** Actions of entries whose message has buttons, because the decision now waits for people. */
const PROMPTING: ReadonlySet<string> = new Set(['decision.proposed', 'decision.escalated']);

/**
 * True if the group named one of the subjects at the time, including the subjects of an escalation once it took effect.
 * Subjects are compared as texts.
 */
function namesOneOf({ subjects, escalate }: ApproverGroup, approvers: readonly string[], time: string): boolean {
  const isEscalated = escalate?.at !== undefined && escalate.at <= time;
  return [...subjects, ...(isEscalated ? escalate.subjects : [])].some((subject) => approvers.includes(subject));
}

/** Returns the hashes that seal an entry, in hex. A receiver who stores messages can compare them with a checkpoint. */
function sealOf({ auditHash, hash, previousHash }: ParsedListedEntry): EntrySeal {
  return { auditHash, hash, previousHash };
}

function bytesOf(body: object): Buffer {
  return Buffer.from(JSON.stringify(body));
}
