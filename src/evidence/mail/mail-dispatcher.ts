import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { yieldBetween } from '../../core/concurrency/time-slice';
import { withTimeout } from '../../core/concurrency/with-timeout';
import { PeriodicTask } from '../../core/lifecycle/periodic-task';
import { type Agent, AGENT } from '../../governance/agents/agent.entity';
import { AgentEmails, type MailRecipient } from '../../governance/agents/agent-emails';
import { Approvers, type Judge, type JudgedDecision, JUDGED } from '../../governance/decisions/approvers';
import { PastApprovers } from '../../governance/changes/past-approvers';
import { CHANGE_REVIEW_TYPE, isChangeReview } from '../../governance/decisions/changes/change';
import { type Decision, DECISION } from '../../governance/decisions/decision.entity';
import type { ApproverGroup } from '../../governance/policies/approval/approval-requirement';
import { SYSTEM_CALLER } from '../../ledger/kinds/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { CounterReader } from '../../ledger/reading/counter-reader';
import { EntryReader } from '../../ledger/reading/entry-reader';
import { RecordReader } from '../../ledger/reading/record-reader';
import { pageAfter } from '../events/entry-tail';
import { DeliveryLease, RENEWAL } from '../webhooks/delivery/delivery-lease';
import { writeWhile } from '../webhooks/delivery/delivery-position-store';
import { WebhookBodies } from '../webhooks/messages/webhook-bodies';
import { escapeForMail, MailSender, mailText } from './mail-sender';

/** Milliseconds between checks. */
const INTERVAL_MS = 1_000;
/** Milliseconds between two mails to a person. */
const BETWEEN = 60_000;
/** Most milliseconds until a failed mail is tried again. */
const MAX_DELAY_MS = 3_600_000;
/** Milliseconds for mails under way when the service stops. */
const GRACE = 2_000;
/** Most decisions that one mail names. */
const MAX_LISTED_DECISIONS = 20;
/** Most people who get mail about one decision. */
const MAX_RECIPIENTS = 50;
/** Most mails being sent at a time. */
const AT_ONCE = 5;
/** Decisions read at once. */
const CHUNK = 500;
const PROPOSED = { column: 'status', comparison: 'equals', value: 'proposed' } as const;
const EMERGENCY = { column: 'type', comparison: 'equals', value: CHANGE_REVIEW_TYPE } as const;

/** A person with an address. */
interface Reader {
  readonly agent: Agent;
  readonly recipient: MailRecipient;
}

/** The first decisions that came to wait for a person, and their number. */
interface Waiting {
  readonly ids: string[];
  count: number;
}

function addWaiting(
  waiting: Map<string, Waiting>,
  { id: agentId }: Pick<Agent, 'id'>,
  { id }: Pick<Decision, 'id'>,
): void {
  const decisions = waiting.get(agentId) ?? { ids: [], count: 0 };
  decisions.count += 1;
  if (decisions.ids.length < MAX_LISTED_DECISIONS) decisions.ids.push(id);
  waiting.set(agentId, decisions);
}

function withoutEscalation({ escalate: _escalate, ...group }: ApproverGroup): ApproverGroup {
  return group;
}

/** State of the mails to a person in this process. */
interface MailPosition {
  readonly epoch: number;
  readonly sequence: number;
  /** Milliseconds since 1970 before which no mail is sent. */
  readonly notBefore: number;
  /** Delay after the last failure; 0 if there was none. */
  readonly delay: number;
}

/**
 * Sends people mail about decisions that have come to wait for them. The process with the lease of deliveries does it,
 * from the ledger and a position for each person: a crash loses nothing, and repeats at most the mail being sent.
 */
@Injectable()
export class MailDispatcher implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Mail');
  private readonly positions = new Map<string, MailPosition>();
  private readonly outcomes = { sent: 0, failed: 0 };
  private readonly repeated = new PeriodicTask(
    INTERVAL_MS,
    () => this.look(),
    (error) => this.logger.warn(`Mails cannot be sent now: ${String(error)}`),
  );

  constructor(
    private readonly ledger: LedgerService,
    private readonly configuration: Configuration,
    private readonly emails: AgentEmails,
    private readonly records: RecordReader,
    private readonly counters: CounterReader,
    private readonly approvers: Approvers,
    private readonly pastApprovers: PastApprovers,
    private readonly lease: DeliveryLease,
    private readonly bodies: WebhookBodies,
    private readonly sender: MailSender,
    private readonly entries: EntryReader,
  ) {}

  onApplicationBootstrap(): void {
    if (this.configuration.smtpUrl !== null) this.repeated.begin();
  }

  async onModuleDestroy(): Promise<void> {
    const stopped = this.repeated.stop();
    await withTimeout(stopped, GRACE, undefined);
    // A server that does not answer delays nobody.
    this.sender.stop();
    await stopped;
  }

  /** Mails of this process, by outcome. */
  get counts(): ReadonlyMap<string, number> {
    return new Map(Object.entries(this.outcomes));
  }

  /** Milliseconds of a clock that all processes share, because another one may continue from the stored times. */
  private get now(): number {
    return this.ledger.clockTime.getTime();
  }

  private async look(): Promise<void> {
    const recipients = await this.emails.all();
    const head = await this.counters.headSequence();
    const due = recipients.filter((recipient) => this.isDue(recipient, head));
    if (due.length === 0) return;
    const term = await this.lease.hold();
    if (term === null) return;
    // If a renewal fails, the lease ends, and another process continues.
    const renewal = setInterval(() => void this.lease.hold().catch(() => undefined), RENEWAL);
    try {
      await this.tell(recipients, new Set(due.map(({ agentId }) => agentId)), head, term);
    } finally {
      clearInterval(renewal);
    }
  }

  private isDue(recipient: MailRecipient, head: number): boolean {
    const { sequence, notBefore } = this.positionOf(recipient);
    return sequence < head && notBefore <= this.now;
  }

  private positionOf({ agentId, epoch, sequence, mailedAt }: MailRecipient): MailPosition {
    const notBefore = mailedAt === null ? 0 : Date.parse(mailedAt) + BETWEEN;
    const cached = this.positions.get(agentId);
    if (cached?.epoch !== epoch) return { epoch, sequence, notBefore, delay: 0 };
    return {
      ...cached,
      sequence: Math.max(cached.sequence, sequence),
      notBefore: Math.max(cached.notBefore, notBefore),
    };
  }

  private async tell(
    recipients: readonly MailRecipient[],
    due: ReadonlySet<string>,
    head: number,
    term: number,
  ): Promise<void> {
    const readers = await this.readersOf(recipients);
    const scan = await this.waitingFor(readers, due);
    // Entries written during this check are left to the next one.
    const upTo = Math.max(head, scan.last);
    const addressees = readers.filter(({ agent }) => scan.waiting.has(agent.id));
    const isPassedOver = ({ id, status }: Agent): boolean =>
      status === 'active' && due.has(id) && !scan.waiting.has(id);
    for (const { recipient } of readers.filter(({ agent }) => isPassedOver(agent)))
      this.positions.set(recipient.agentId, { ...this.positionOf(recipient), sequence: upTo });
    while (addressees.length > 0 && !this.repeated.isStopping) {
      if ((await this.lease.hold()) !== term) return;
      await Promise.all(addressees.splice(0, AT_ONCE).map((reader) => this.mail(reader, scan.waiting, upTo, term)));
    }
  }

  /** Returns people with their addresses, in order of creation: if many could approve, the first of them get mail. */
  private async readersOf(recipients: readonly MailRecipient[]): Promise<Reader[]> {
    const ids = recipients.map(({ agentId }) => [agentId]);
    const agents = await this.records.allAmong(AGENT, ['id'], ids);
    const byId = new Map(recipients.map((recipient) => [recipient.agentId, recipient]));
    return agents
      .sort((left, right) => left.createdSequence - right.createdSequence)
      .flatMap((agent) => {
        const recipient = byId.get(agent.id);
        // Suspended people also learn of an emergency.
        const isReached = agent.status === 'active' || this.configuration.fourEyes;
        if (recipient === undefined || !isReached) return [];
        return [{ agent, recipient }];
      });
  }

  private async waitingFor(
    readers: readonly Reader[],
    due: ReadonlySet<string>,
  ): Promise<{ readonly waiting: ReadonlyMap<string, Waiting>; readonly last: number }> {
    const waiting = new Map<string, Waiting>();
    const sequences = new Map(readers.map(({ agent, recipient }) => [agent.id, this.positionOf(recipient).sequence]));
    const position = Math.min(
      ...readers.flatMap(({ agent }) => (due.has(agent.id) ? [sequences.get(agent.id) ?? 0] : [])),
    );
    if (!Number.isFinite(position)) return { waiting, last: 0 };
    const hears = async (agent: Agent, decision: JudgedDecision, couldApprove: Judge): Promise<boolean> =>
      isChangeReview(decision) ? this.pastApprovers.couldHaveApproved(agent, decision) : couldApprove(agent, decision);
    const judgeOf = this.approvers.judging(readers.map(({ agent }) => agent));
    let last = 0;
    for await (const decisions of this.announcedAfter(position)) {
      const couldApprove = await judgeOf(decisions);
      for await (const decision of yieldBetween(decisions)) {
        const { createdSequence } = decision;
        last = Math.max(last, createdSequence);
        let approverCount = 0;
        for (const { agent } of readers) {
          if (approverCount === MAX_RECIPIENTS) break;
          if (!(await hears(agent, decision, couldApprove))) continue;
          approverCount += 1;
          if (due.has(agent.id) && createdSequence > (sequences.get(agent.id) ?? 0))
            addWaiting(waiting, agent, decision);
        }
      }
    }
    for await (const { sequence, decision } of this.escalatedAfter(position)) {
      last = Math.max(last, sequence);
      const couldApprove = await judgeOf([decision]);
      const before = { ...decision, approvers: decision.approvers?.map(withoutEscalation) ?? null };
      for (const { agent } of readers) {
        const upTo = sequences.get(agent.id) ?? 0;
        // Newer decisions were already found above.
        const isNew = due.has(agent.id) && sequence > upTo && decision.createdSequence <= upTo;
        if (isNew && couldApprove(agent, decision) && !couldApprove(agent, before))
          addWaiting(waiting, agent, decision);
      }
    }
    return { waiting, last };
  }

  /** Yields the waiting decisions after a sequence, then the emergencies that were reviewed before anybody was told. */
  private async *announcedAfter(position: number): AsyncGenerator<readonly (JudgedDecision & Pick<Decision, 'id'>)[]> {
    const columns = [...JUDGED, 'createdAt'] as const;
    const range = { order: 'asc', position, atOnce: CHUNK } as const;
    yield* this.records.columns(DECISION, columns, { ...range, conditions: [PROPOSED] }, SYSTEM_CALLER);
    const emergencies = this.records.columns(DECISION, columns, { ...range, conditions: [EMERGENCY] }, SYSTEM_CALLER);
    for await (const decisions of emergencies) yield decisions.filter(({ status }) => status !== 'proposed');
  }

  /** Yields the waiting decisions that have escalated after a sequence, each with the sequence of that entry. */
  private async *escalatedAfter(position: number): AsyncGenerator<{ sequence: number; decision: Decision }> {
    const conditions = [{ column: 'action', comparison: 'equals', value: 'decision.escalated' }] as const;
    for (let after = position, more = true; more;) {
      const page = await this.entries.page(pageAfter(after, conditions));
      for (const { sequence, subjectId } of page.rows) {
        after = sequence;
        const decision = await this.records.find(DECISION, subjectId, SYSTEM_CALLER);
        if (decision?.status === 'proposed') yield { sequence, decision };
      }
      ({ more } = page);
    }
  }

  private async mail(
    { agent, recipient }: Reader,
    waiting: ReadonlyMap<string, Waiting>,
    sequence: number,
    term: number,
  ): Promise<void> {
    const position = this.positionOf(recipient);
    const { ids = [], count = 0 } = waiting.get(agent.id) ?? {};
    try {
      const messages = [];
      for (const id of ids) messages.push(...(await this.bodies.messagesForWaiting(id, escapeForMail)));
      // Earlier mails may have taken long, and some decisions may have been settled meanwhile.
      const left = count - (ids.length - messages.length);
      if (left === 0) {
        this.positions.set(agent.id, { ...position, sequence });
        return;
      }
      const { publicUrl } = this.configuration;
      const text = mailText(messages, left, publicUrl === null ? null : `${publicUrl}/console`);
      await this.sender.send({ ...text, to: recipient.email, id: `${agent.id}.${sequence}` });
    } catch (error) {
      if (this.repeated.isStopping) return;
      this.outcomes.failed += 1;
      const delay = Math.min(Math.max(BETWEEN, position.delay * 2), MAX_DELAY_MS);
      this.positions.set(agent.id, { ...position, delay, notBefore: this.now + delay });
      // The server's message may contain the address, so it is not logged.
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'no code';
      this.logger.warn(`A mail to ${agent.id} was not sent (${code}) and will be tried again.`);
      return;
    }
    this.outcomes.sent += 1;
    const mailedAt = new Date(this.now).toISOString();
    const { epoch } = recipient;
    const mailed = { agentId: agent.id, epoch, sequence, mailedAt, term };
    this.positions.set(agent.id, { epoch, sequence, notBefore: this.now + BETWEEN, delay: 0 });
    // The position is written with retries: a failure would end this check, and the next one would repeat the mails
    // that are being sent to others.
    await writeWhile(
      () => !this.repeated.isStopping,
      () => this.emails.advance(mailed),
    );
  }
}
