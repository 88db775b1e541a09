import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Server, ServerResponse } from 'node:http';
import { withTimeout } from '../../core/concurrency/with-timeout';
import { Checkpoints } from '../../evidence/checkpoints/checkpoints.service';
import { MailDispatcher } from '../../evidence/mail/mail-dispatcher';
import { ChainVerifier } from '../../evidence/verification/chain-verifier';
import { WebhookDispatcher } from '../../evidence/webhooks/delivery/webhook-dispatcher';
import { DECISION } from '../../governance/decisions/decision.entity';
import { AccessDenials } from '../../http/authentication/access-denials';
import { Gates } from '../../http/gates';
import type { ServiceRequest } from '../../http/request/service-request';
import { OVER } from '../../http/server/http-server';
import { SYSTEM_CALLER } from '../../ledger/kinds/caller';
import type { LedgerObserver, ObservedBatch } from '../../ledger/commands/ledger-observer';
import { Database } from '../../ledger/database/database';
import { LedgerService } from '../../ledger/ledger.service';
import { CounterReader } from '../../ledger/reading/counter-reader';
import { RecordReader } from '../../ledger/reading/record-reader';
import { counterName } from '../../ledger/records/counters';
import { type CountedMetric, Instruments, type MeasuredMetric } from './instruments';

const MILLISECONDS = 1000;
/** Most milliseconds to read a number: a database that does not answer must not delay a scrape. */
const MAX_READ_MS = 1_000;
/** Label for all paths that match no route; each path would otherwise be a separate series. */
const NO_ROUTE = 'none';
/** Label in place of the status of a request whose client left before the response. */
const NOT_ANSWERED = 'none';

const PROPOSED = 'proposed';

/** Measures requests and the ledger's batches, and reads the state of other parts when the metrics are scraped. */
@Injectable()
export class Metrics implements LedgerObserver, OnModuleInit {
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8';
  private currentInstruments: Instruments | null = null;

  constructor(
    private readonly ledger: LedgerService,
    private readonly database: Database,
    private readonly checkpoints: Checkpoints,
    private readonly verifier: ChainVerifier,
    private readonly denials: AccessDenials,
    private readonly gates: Gates,
    private readonly records: RecordReader,
    private readonly counters: CounterReader,
    private readonly webhooks: WebhookDispatcher,
    private readonly mails: MailDispatcher,
    private readonly host: HttpAdapterHost,
  ) {}

  onModuleInit(): void {
    this.ledger.observe(this);
    const server = this.host.httpAdapter.getHttpServer() as Server;
    server.on(OVER, (request: ServiceRequest, response: ServerResponse, duration: number) =>
      this.over(request, response, duration),
    );
  }

  text(): Promise<string> {
    return this.instruments.text();
  }

  onBatch({ commands, durationMs, commitDurationMs, refusals }: ObservedBatch): void {
    const { batchSizes, batches, commits, denials } = this.instruments;
    batchSizes.observe(commands);
    batches.observe(durationMs / MILLISECONDS);
    if (commitDurationMs !== null) commits.observe(commitDurationMs / MILLISECONDS);
    for (const { extras } of refusals) {
      if (extras.reason !== undefined) denials.inc({ reason: extras.reason });
    }
  }

  onFailedBatch(): void {
    this.instruments.failedBatches.inc();
  }

  /** Instruments, created at the first measurement, so that a start does not load them. */
  private get instruments(): Instruments {
    this.currentInstruments ??= new Instruments(this.measured(), this.counted());
    return this.currentInstruments;
  }

  private over({ method, template }: ServiceRequest, response: ServerResponse, duration: number): void {
    const { requests, refusedKeys, limited } = this.instruments;
    const status = response.headersSent ? String(response.statusCode) : NOT_ANSWERED;
    requests.observe({ method, route: template ?? NO_ROUTE, status }, duration / MILLISECONDS);
    if (status === '401') refusedKeys.inc();
    else if (status === '429') limited.inc();
  }

  private counted(): readonly CountedMetric[] {
    return [
      {
        name: 'governance_access_denials_total',
        help: 'Requests refused because of who the caller is; the audit trail records one per second for each caller and reason.',
        label: 'reason',
        read: () => this.denials.counts,
      },
      {
        name: 'governance_webhook_attempts_total',
        help: 'Attempts of this process to deliver an entry to a webhook.',
        label: 'outcome',
        read: () => this.webhooks.attempts,
      },
      {
        name: 'governance_mails_total',
        help: 'Mails that this process has sent, or that the mail server did not take.',
        label: 'outcome',
        read: () => this.mails.counts,
      },
    ];
  }

  /** Returns the seconds since the oldest waiting decision was proposed; 0 if none waits. */
  private async oldestWait(): Promise<number> {
    const conditions = [{ column: 'status', comparison: 'equals', value: PROPOSED }] as const;
    const range = { conditions, order: 'asc', position: 0, atOnce: 1 } as const;
    for await (const [oldest] of this.records.columns(DECISION, ['createdAt'], range, SYSTEM_CALLER)) {
      if (oldest === undefined) break;
      return Math.max(0, this.ledger.clockTime.getTime() - Date.parse(oldest.createdAt)) / MILLISECONDS;
    }
    return 0;
  }

  private async waitingDecisions(): Promise<number> {
    const { records } = await this.counters.read([counterName(DECISION.counter, 'status', PROPOSED)]);
    return records[0] ?? 0;
  }

  private measured(): readonly MeasuredMetric[] {
    const { ledger, checkpoints, verifier } = this;
    const [bodies, answers] = [this.gates.get('bodies'), this.gates.get('answers')];
    return [
      {
        name: 'governance_ledger_queue_commands',
        help: 'Commands that wait for the next batch.',
        read: () => ledger.waiting,
      },
      {
        name: 'governance_ledger_head_sequence',
        help: 'Sequence of the last entry of the chain that this process has written or read.',
        read: () => ledger.head.sequence,
      },
      {
        name: 'governance_ledger_previous_heads',
        help: 'Previous versions of the head row that the server still keeps, for example for a long snapshot; each batch reads past all of them.',
        read: () => withTimeout(this.database.deadRows('ledger_head'), MAX_READ_MS, NaN),
      },
      {
        name: 'governance_ledger_healthy',
        help: '1 while commits succeed in time, and nothing else prevents writing, otherwise 0.',
        read: () => Number(ledger.isHealthy),
      },
      {
        name: 'governance_waiting_decisions',
        help: 'Decisions that wait for people, of all agents.',
        read: () => withTimeout(this.waitingDecisions(), MAX_READ_MS, NaN),
      },
      {
        name: 'governance_oldest_waiting_decision_seconds',
        help: 'Time since the oldest decision that waits for people was proposed; 0 if none waits.',
        read: () => withTimeout(this.oldestWait(), MAX_READ_MS, NaN),
      },
      {
        name: 'governance_webhook_lag_entries',
        help: 'Entries that the webhook furthest behind has still to get or pass over; 0 in a process that does not deliver.',
        read: () => this.webhooks.lag,
      },
      {
        name: 'governance_failing_webhooks',
        help: 'Webhooks that were given up after three days of failures, and get nothing until somebody resumes them.',
        read: () => this.webhooks.failingWebhooks,
      },
      {
        name: 'governance_checkpoint_size',
        help: 'Entries of the last checkpoint that this process has signed or found kept.',
        read: () => checkpoints.lastSize,
      },
      {
        name: 'governance_checkpoint_contradicted',
        help: '1 while the log contradicts the kept checkpoint, so that none is signed, otherwise 0.',
        read: () => Number(checkpoints.isContradicted),
      },
      {
        name: 'governance_held_body_bytes',
        help: 'Bytes of the bodies above 16 KiB that are being read or processed.',
        read: () => bodies.held,
      },
      {
        name: 'governance_waiting_bodies',
        help: 'Bodies above 16 KiB that wait unread until others have been processed.',
        read: () => bodies.waiting,
      },
      {
        name: 'governance_held_answer_bytes',
        help: 'Bytes of the answers above 16 KiB that their clients have not read yet.',
        read: () => answers.held,
      },
      {
        name: 'governance_verification_entry',
        help: 'Last entry hashed by the verification that is running in this process; 0 while none is running.',
        read: () => verifier.at,
      },
    ];
  }
}
