import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { yieldBetween } from '../../core/concurrency/time-slice';
import { withTimeout } from '../../core/concurrency/with-timeout';
import { PeriodicTask } from '../../core/lifecycle/periodic-task';
import { type Agent, AGENT } from '../../governance/agents/agent.entity';
import { AgentEmails, type MailRecipient } from '../../governance/agents/agent-emails';
import { Approvers, JUDGED } from '../../governance/decisions/approvers';
import { DECISION } from '../../governance/decisions/decision.entity';
import { SYSTEM_CALLER } from '../../ledger/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { CounterReader } from '../../ledger/reading/counter-reader';
import { RecordReader } from '../../ledger/reading/record-reader';
import { DeliveryProgressStore } from '../webhooks/delivery/delivery-position-store';
import { WebhookBodies } from '../webhooks/messages/webhook-bodies';
import { escapeForMail, MailSender, mailText } from './mail-sender';

/** Milliseconds between looks, between renewals of the lease, and between two mails to a person. */
const INTERVAL = 1_000;
const RENEWAL = 2_000;
const BETWEEN = 60_000;
const LONGEST_DELAY = 3_600_000;
/** Milliseconds for mails under way when the service stops. */
const GRACE = 2_000;
/** The most decisions that one mail names, people who get mail about one decision, and mails being sent at a time. */
const MOST_NAMED = 20;
const MOST_TOLD = 50;
const AT_ONCE = 5;
const CHUNK = 500;
const PROPOSED = { column: 'status', comparison: 'equals', value: 'proposed' } as const;
const MOVE =
  `UPDATE "mail_recipients" SET "sequence" = $2, "mailedAt" = $3, "term" = $4 ` +
  `WHERE "agentId" = $1 AND "epoch" = $5 AND "term" <= $4`;

/** A person with an address. */
interface Reader {
  readonly agent: Agent;
  readonly recipient: MailRecipient;
}

/** The decisions that came to wait for a person: the first ones, and how many. */
interface Waiting {
  readonly ids: string[];
  count: number;
}

/** What this process remembers about the mails to a person. */
interface Place {
  readonly epoch: number;
  readonly sequence: number;
  /** Milliseconds since 1970: no mail before. */
  readonly notBefore: number;
  /** How long was waited after the last failure; 0: there was none. */
  readonly delay: number;
}

/**
 * Sends people mail about decisions that have come to wait for them. The process with the lease of deliveries does it,
 * from the ledger and a position for each person: a crash loses nothing, and repeats at most the mail being sent.
 */
@Injectable()
export class MailDispatcher implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Mail');
  private readonly places = new Map<string, Place>();
  private readonly outcomes = { sent: 0, failed: 0 };
  private readonly repeated = new PeriodicTask(
    INTERVAL,
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
    private readonly store: DeliveryProgressStore,
    private readonly bodies: WebhookBodies,
    private readonly sender: MailSender,
  ) {}

  onApplicationBootstrap(): void {
    if (this.configuration.smtpUrl !== null) this.repeated.begin();
  }

  async onModuleDestroy(): Promise<void> {
    const stopped = this.repeated.stop();
    await withTimeout(stopped, GRACE, undefined);
    // A server that does not answer holds nobody up.
    this.sender.stop();
    await stopped;
  }

  /** Mails of this process, by outcome. */
  get counts(): ReadonlyMap<string, number> {
    return new Map(Object.entries(this.outcomes));
  }

  /** By a clock that all processes share: another one may go on from the times that are kept. */
  private get now(): number {
    return this.ledger.clockTime.getTime();
  }

  private async look(): Promise<void> {
    const recipients = await this.emails.all();
    const head = await this.counters.headSequence();
    const due = recipients.filter((recipient) => this.isDue(recipient, head));
    if (due.length === 0) return;
    const term = await this.store.hold();
    if (term === null) return;
    // If a renewal fails, the lease ends, and another process goes on.
    const renewal = setInterval(() => void this.store.hold().catch(() => undefined), RENEWAL);
    try {
      await this.tell(recipients, new Set(due.map(({ agentId }) => agentId)), head, term);
    } finally {
      clearInterval(renewal);
    }
  }

  private isDue(recipient: MailRecipient, head: number): boolean {
    const { sequence, notBefore } = this.placeOf(recipient);
    return sequence < head && notBefore <= this.now;
  }

  private placeOf({ agentId, epoch, sequence, mailedAt }: MailRecipient): Place {
    const notBefore = mailedAt === null ? 0 : Date.parse(mailedAt) + BETWEEN;
    const known = this.places.get(agentId);
    if (known?.epoch !== epoch) return { epoch, sequence, notBefore, delay: 0 };
    return { ...known, sequence: Math.max(known.sequence, sequence), notBefore: Math.max(known.notBefore, notBefore) };
  }

  private async tell(
    recipients: readonly MailRecipient[],
    due: ReadonlySet<string>,
    head: number,
    term: number,
  ): Promise<void> {
    const readers = await this.readersOf(recipients);
    const found = await this.waitingFor(readers, due);
    // What was written during this look is left to the next one.
    const upTo = Math.max(head, found.last);
    const told = readers.filter(({ agent }) => found.waiting.has(agent.id));
    for (const { recipient } of readers.filter(({ agent }) => due.has(agent.id) && !found.waiting.has(agent.id)))
      this.places.set(recipient.agentId, { ...this.placeOf(recipient), sequence: upTo });
    while (told.length > 0 && !this.repeated.isStopping) {
      if ((await this.store.hold()) !== term) return;
      await Promise.all(told.splice(0, AT_ONCE).map((reader) => this.mail(reader, found.waiting, upTo, term)));
    }
  }

  /** In order of creation: where many could approve, the first of them get mail. */
  private async readersOf(recipients: readonly MailRecipient[]): Promise<Reader[]> {
    const ids = recipients.map(({ agentId }) => [agentId]);
    const agents = await this.records.allAmong(AGENT, ['id'], ids);
    const byId = new Map(recipients.map((recipient) => [recipient.agentId, recipient]));
    return agents
      .sort((left, right) => left.createdSequence - right.createdSequence)
      .flatMap((agent) => {
        const recipient = byId.get(agent.id);
        if (recipient === undefined || agent.status !== 'active') return [];
        return [{ agent, recipient }];
      });
  }

  private async waitingFor(
    readers: readonly Reader[],
    due: ReadonlySet<string>,
  ): Promise<{ readonly waiting: ReadonlyMap<string, Waiting>; readonly last: number }> {
    const waiting = new Map<string, Waiting>();
    const places = new Map(readers.map(({ agent, recipient }) => [agent.id, this.placeOf(recipient).sequence]));
    const position = Math.min(
      ...readers.flatMap(({ agent }) => (due.has(agent.id) ? [places.get(agent.id) ?? 0] : [])),
    );
    if (!Number.isFinite(position)) return { waiting, last: 0 };
    const range = { conditions: [PROPOSED], order: 'asc', position, atOnce: CHUNK } as const;
    const judgeOf = this.approvers.judging(readers.map(({ agent }) => agent));
    let last = 0;
    for await (const decisions of this.records.columns(DECISION, JUDGED, range, SYSTEM_CALLER)) {
      const couldApprove = await judgeOf(decisions);
      for await (const decision of yieldBetween(decisions)) {
        last = decision.createdSequence;
        let told = 0;
        for (const { agent } of readers) {
          if (told === MOST_TOLD) break;
          if (!couldApprove(agent, decision)) continue;
          told += 1;
          if (!due.has(agent.id) || last <= (places.get(agent.id) ?? 0)) continue;
          const known = waiting.get(agent.id) ?? { ids: [], count: 0 };
          known.count += 1;
          if (known.ids.length < MOST_NAMED) known.ids.push(decision.id);
          waiting.set(agent.id, known);
        }
      }
    }
    return { waiting, last };
  }

  private async mail(
    { agent, recipient }: Reader,
    waiting: ReadonlyMap<string, Waiting>,
    sequence: number,
    term: number,
  ): Promise<void> {
    const place = this.placeOf(recipient);
    const { ids = [], count = 0 } = waiting.get(agent.id) ?? {};
    try {
      const messages = [];
      for (const id of ids) messages.push(...(await this.bodies.ofWaiting(id, escapeForMail)));
      // Mails before this one may have taken long, and some have been settled meanwhile.
      const left = count - (ids.length - messages.length);
      if (left === 0) {
        this.places.set(agent.id, { ...place, sequence });
        return;
      }
      const { publicUrl } = this.configuration;
      const text = mailText(messages, left, publicUrl === null ? null : `${publicUrl}/console`);
      await this.sender.send({ ...text, to: recipient.email, id: `${agent.id}.${sequence}` });
    } catch (error) {
      if (this.repeated.isStopping) return;
      this.outcomes.failed += 1;
      const delay = Math.min(Math.max(BETWEEN, place.delay * 2), LONGEST_DELAY);
      this.places.set(agent.id, { ...place, delay, notBefore: this.now + delay });
      // Not the server's message, which may contain the address.
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'no code';
      this.logger.warn(`A mail to ${agent.id} was not sent (${code}) and will be tried again.`);
      return;
    }
    this.outcomes.sent += 1;
    const mailedAt = new Date(this.now).toISOString();
    const { epoch } = recipient;
    this.places.set(agent.id, { epoch, sequence, notBefore: this.now + BETWEEN, delay: 0 });
    // Retried until it is written: a failure would end this look, and the next one would repeat the mails that are being sent
    // to others.
    const move = (): Promise<unknown> => this.store.run(MOVE, [agent.id, sequence, mailedAt, term, epoch]);
    await this.store.writeWhile(() => !this.repeated.isStopping, move);
  }
}
