import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Counter, Histogram } from 'prom-client';
import type { LedgerObserver, ObservedBatch } from '../../ledger/ledger-observer';
import { LedgerService } from '../../ledger/ledger.service';
import { DENIAL_REASONS } from '../../core/errors/error-codes';
import { within } from '../../core/concurrency/within';
import { Metrics } from './metrics';

/** Buckets in commands; a batch has at most 512. */
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
/** Seconds. */
const DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const MILLISECONDS = 1000;
/** Milliseconds: a database that does not answer must not delay a scrape. */
const LONGEST_READ = 1_000;

/** What the ledger does, as metrics. */
@Injectable()
export class LedgerMetrics implements LedgerObserver, OnModuleInit {
  private readonly sizes: Histogram;
  private readonly durations: Histogram;
  private readonly commits: Histogram;
  private readonly failures: Counter;
  private readonly denials: Counter<'reason'>;

  constructor(
    metrics: Metrics,
    private readonly ledger: LedgerService,
  ) {
    const registers = [metrics.registry];
    this.sizes = new Histogram({
      name: 'governance_ledger_batch_commands',
      help: 'Commands that shared a transaction.',
      buckets: SIZES,
      registers,
    });
    this.durations = new Histogram({
      name: 'governance_ledger_batch_duration_seconds',
      help: 'Time of a whole transaction, from its beginning to its end.',
      buckets: DURATIONS,
      registers,
    });
    this.commits = new Histogram({
      name: 'governance_ledger_commit_duration_seconds',
      help: 'Time of COMMIT alone, which is mostly the sync of the disk.',
      buckets: DURATIONS,
      registers,
    });
    this.failures = new Counter({
      name: 'governance_ledger_failed_batches_total',
      help: 'Batches that the database did not accept; their requests were answered with 503.',
      registers,
    });
    this.denials = new Counter({
      name: 'governance_denials_total',
      help: 'Refusals of agents by rule, as in the audit trail.',
      labelNames: ['reason'],
      registers,
    });
    // Present at zero from the first scrape on, so that the first denial shows as an increase.
    DENIAL_REASONS.forEach((reason) => this.denials.inc({ reason }, 0));
    registerState(metrics, ledger);
  }

  onModuleInit(): void {
    this.ledger.observe(this);
  }

  onBatch({ commands, duration, commitDuration, refusals }: ObservedBatch): void {
    this.sizes.observe(commands);
    this.durations.observe(duration / MILLISECONDS);
    if (commitDuration !== null) this.commits.observe(commitDuration / MILLISECONDS);
    for (const { extras } of refusals) {
      if (extras.reason !== undefined) this.denials.inc({ reason: extras.reason });
    }
  }

  onFailedBatch(): void {
    this.failures.inc();
  }
}

function registerState(metrics: Metrics, ledger: LedgerService): void {
  metrics.gauge('governance_ledger_queue_commands', 'Commands that wait for the next batch.', () => ledger.waiting);
  metrics.gauge(
    'governance_ledger_head_sequence',
    'Sequence of the last entry of the chain that this process has written or read.',
    () => ledger.head.sequence,
  );
  metrics.gauge(
    'governance_ledger_previous_heads',
    'Previous versions of the head row that the server still keeps, for example for a long snapshot; each batch reads past all of them.',
    () => within(ledger.deadHeadVersions(), LONGEST_READ, NaN),
  );
  metrics.gauge(
    'governance_ledger_healthy',
    '1 while commits succeed in time, and nothing else prevents writing, otherwise 0.',
    () => (ledger.isHealthy ? 1 : 0),
  );
}
