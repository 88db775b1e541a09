import { createRequire } from 'node:module';
import type * as prometheus from 'prom-client';
import { DENIAL_REASONS } from '../../core/errors/error-codes';

const load = createRequire(__filename);

/** Buckets in commands; a batch has at most 512. */
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
/** Seconds. */
const BATCH_DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const REQUEST_DURATIONS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A number that is read when the metrics are scraped; `NaN` if it cannot be read. */
export interface MeasuredMetric {
  readonly name: string;
  readonly help: string;
  readonly read: () => number | Promise<number>;
}

/** Numbers since the start of the process, by the values of a label. */
export interface CountedMetric extends Pick<MeasuredMetric, 'name' | 'help'> {
  readonly label: string;
  readonly read: () => ReadonlyMap<string, number>;
}

/** Metrics of the process (CPU, memory, event loop, garbage collection), shared by all applications that it runs. */
let ofProcess: prometheus.Registry | null = null;

/** The instruments, and the registry with their results. Loads prom-client. */
export class Instruments {
  private readonly client = load('prom-client') as typeof prometheus;
  private readonly registry = new this.client.Registry();
  readonly requests = new this.client.Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from a request to the end of its answer, by route template.',
    labelNames: ['method', 'route', 'status'],
    buckets: REQUEST_DURATIONS,
    registers: [this.registry],
  });
  readonly refusedKeys = new this.client.Counter({
    name: 'governance_refused_keys_total',
    help: 'Requests whose API key was missing or wrong.',
    registers: [this.registry],
  });
  readonly limited = new this.client.Counter({
    name: 'governance_rate_limited_requests_total',
    help: 'Requests beyond the rate limit of their client.',
    registers: [this.registry],
  });
  readonly batchSizes = new this.client.Histogram({
    name: 'governance_ledger_batch_commands',
    help: 'Commands that shared a transaction.',
    buckets: SIZES,
    registers: [this.registry],
  });
  readonly batches = new this.client.Histogram({
    name: 'governance_ledger_batch_duration_seconds',
    help: 'Time of a whole transaction, from its beginning to its end.',
    buckets: BATCH_DURATIONS,
    registers: [this.registry],
  });
  readonly commits = new this.client.Histogram({
    name: 'governance_ledger_commit_duration_seconds',
    help: 'Time of COMMIT alone, which is mostly the sync of the disk.',
    buckets: BATCH_DURATIONS,
    registers: [this.registry],
  });
  readonly failedBatches = new this.client.Counter({
    name: 'governance_ledger_failed_batches_total',
    help: 'Batches that the database did not accept; their requests were answered with 503.',
    registers: [this.registry],
  });
  readonly denials = new this.client.Counter({
    name: 'governance_denials_total',
    help: 'Refusals of agents by rule, as in the audit trail.',
    labelNames: ['reason'],
    registers: [this.registry],
  });

  constructor(measured: readonly MeasuredMetric[], counted: readonly CountedMetric[]) {
    const { Counter, Gauge, Registry, collectDefaultMetrics } = this.client;
    const registers = [this.registry];
    if (ofProcess === null) {
      ofProcess = new Registry();
      collectDefaultMetrics({ register: ofProcess });
    }
    // Reported as zero from the first scrape on, so that the first denial shows as an increase.
    DENIAL_REASONS.forEach((reason) => this.denials.inc({ reason }, 0));
    for (const { name, help, label, read } of counted) {
      const collect = function (this: prometheus.Counter): void {
        this.reset();
        for (const [value, count] of read()) this.inc({ [label]: value }, count);
      };
      new Counter({ name, help, labelNames: [label], registers, collect });
    }
    for (const { name, help, read } of measured) {
      const collect = async function (this: prometheus.Gauge): Promise<void> {
        this.set(await Promise.resolve(read()).catch(() => NaN));
      };
      new Gauge({ name, help, registers, collect });
    }
  }

  /** All metrics in Prometheus' text format. */
  async text(): Promise<string> {
    const texts = await Promise.all([this.registry.metrics(), ofProcess?.metrics() ?? '']);
    return texts.join('\n');
  }
}
