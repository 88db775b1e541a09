import { Injectable } from '@nestjs/common';
import { Configuration } from '../../../core/config/configuration';
import type { JsonObject } from '../../../core/json/json-value';
import { AGENT } from '../../../governance/agents/agent.entity';
import { type Decision, DECISION } from '../../../governance/decisions/decision.entity';
import { EXECUTION } from '../../../governance/executions/execution.entity';
import { SYSTEM_CALLER } from '../../../ledger/caller';
import type { ParsedListedEntry } from '../../../ledger/reading/entry-reader';
import { RecordReader } from '../../../ledger/reading/record-reader';
import { AuditEntryResponse } from '../../audit/dto/audit-entry.response';
import type { Webhook } from '../webhook.entity';
import { type DecisionFacts, type Escape, isForClicks, type Message, buildMessage, testMessage } from './message';
import { ocsfEvent } from './ocsf-event';
import { type ReviewPrompt, escapeForSlack, slackMessage, escapeForTeams, teamsMessage } from './chat-messages';

interface Target {
  readonly escape: Escape;
  readonly mostLines?: number;
  readonly render: (message: Message, asked: ReviewPrompt | null) => JsonObject;
}

/** Teams refuses what has more than 28 KB, and each line is a block of its own. */
const MOST_LINES_IN_TEAMS = 80;

const MESSAGES: Readonly<Record<'slack' | 'teams', Target>> = {
  slack: { escape: escapeForSlack, render: slackMessage },
  teams: { escape: escapeForTeams, mostLines: MOST_LINES_IN_TEAMS, render: teamsMessage },
};

type Formatted = Pick<Webhook, 'format' | 'detail' | 'buttons'>;

/** What is delivered of an entry, in the format of a webhook. */
@Injectable()
export class WebhookBodies {
  constructor(
    private readonly records: RecordReader,
    private readonly configuration: Configuration,
  ) {}

  /** With what is known of its decision now: contents that were erased meanwhile are not sent. */
  async of(webhook: Formatted, entry: ParsedListedEntry): Promise<Buffer> {
    const { format, detail, buttons } = webhook;
    const data = AuditEntryResponse.from(entry);
    if (format === 'event') return bytesOf({ type: entry.action, timestamp: entry.timestamp, data });
    if (format === 'ocsf') return bytesOf(ocsfEvent(data));
    const { escape, mostLines, render }: Target = MESSAGES[format];
    const facts = await this.factsOf(entry);
    const { publicUrl, mailZone: timeZone } = this.configuration;
    const asked = buttons && entry.action === 'decision.proposed' ? this.askedIn(facts.decision) : null;
    return bytesOf(render(buildMessage(entry, facts, { detail, publicUrl, timeZone, escape, mostLines }), asked));
  }

  /** What a mail says of a decision that waits; nothing once it is settled. */
  async ofWaiting(decisionId: string, escape: Escape): Promise<Message[]> {
    const decision = await this.records.find(DECISION, decisionId, SYSTEM_CALLER);
    return decision?.status === 'proposed' ? [await this.messageAbout(decision, null, escape)] : [];
  }

  /** What Slack is to show in place of a message on which somebody clicked. */
  async ofDecision(
    decision: Decision,
    { reviewer = null, asksComment }: { reviewer?: string | null; asksComment?: boolean },
  ): Promise<JsonObject> {
    const message = await this.messageAbout(decision, reviewer, escapeForSlack);
    const asked = this.askedIn(decision);
    return slackMessage(message, asked === null ? null : { ...asked, asksComment });
  }

  ofTest({ format }: Formatted, id: string, timestamp: string): Buffer {
    const type = 'webhook.test';
    if (format === 'event') return bytesOf({ type, timestamp, data: {} });
    if (format !== 'ocsf') return bytesOf(MESSAGES[format].render(testMessage(this.configuration.publicUrl), null));
    const none = { agentId: null, entityId: null, reason: null, details: null, requestId: null, ip: null };
    const subject = { subjectType: 'webhook', subjectId: id, actor: { type: 'system', id: 'service' } };
    return bytesOf(ocsfEvent({ id, timestamp, action: type, outcome: 'success', ...subject, ...none }));
  }

  /** All that is known of a decision now. */
  private async messageAbout(decision: Decision, reviewer: string | null, escape: Escape): Promise<Message> {
    const { status, reviews } = decision;
    const action = `decision.${status === 'proposed' && reviews.length > 0 ? 'reviewed' : status}`;
    const told = { action, reason: null, outcome: 'success' };
    const { publicUrl, mailZone: timeZone } = this.configuration;
    const facts = await this.factsOfDecision(decision, reviewer);
    return buildMessage(told, facts, { detail: 'full', publicUrl, timeZone, escape });
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
    const { executionId, proposedBy } = decision;
    const execution = executionId === null ? undefined : await this.records.find(EXECUTION, executionId, SYSTEM_CALLER);
    return { decision, execution: execution ?? null, proposer: await this.agentName(proposedBy), reviewer };
  }

  private askedIn(decision: Decision | null): ReviewPrompt | null {
    if (this.configuration.slackSigningSecret === null || decision === null || !isForClicks(decision)) return null;
    return { decisionId: decision.id };
  }

  private async agentName(agentId: string): Promise<string> {
    return (await this.records.find(AGENT, agentId))?.name ?? agentId;
  }
}

function bytesOf(body: object): Buffer {
  return Buffer.from(JSON.stringify(body));
}
