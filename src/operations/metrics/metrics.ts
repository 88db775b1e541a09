import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { AccessDenials } from '../../http/authentication/access-denials';
import { Checkpoints } from '../../evidence/checkpoints/checkpoints.service';
import { Gates } from '../../http/gates';
import { ChainVerifier } from '../../evidence/verification/chain-verifier';

/** Metrics of the process (CPU, memory, event loop, garbage collection): once, however many applications it runs. */
let ofProcess: Registry | null = null;

/** The metrics of this application; whoever measures something registers it here. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();
  readonly contentType = this.registry.contentType;

  constructor() {
    ofProcess ??= processMetrics();
  }

  /** A number that is read when the metrics are scraped; `NaN` if it cannot be read. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      async collect() {
        this.set(await Promise.resolve(read()).catch(() => NaN));
      },
    });
  }

  /** All metrics in Prometheus' text format. */
  async text(): Promise<string> {
    const texts = await Promise.all([this.registry.metrics(), ofProcess?.metrics() ?? '']);
    return texts.join('\n');
  }
}

function processMetrics(): Registry {
  const register = new Registry();
  collectDefaultMetrics({ register });
  return register;
}

/** Refusals of callers, as metrics: every one, even where one audit entry stands for many. */
@Injectable()
export class AccessMetrics {
  constructor({ registry }: Metrics, denials: AccessDenials) {
    new Counter({
      name: 'governance_access_denials_total',
      help: 'Requests refused because of who the caller is; the audit trail records one per second for each caller and reason.',
      labelNames: ['reason'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [reason, count] of denials.counts) this.inc({ reason }, count);
      },
    });
  }
}

/** The signed checkpoints, as metrics. */
@Injectable()
export class CheckpointMetrics {
  constructor(metrics: Metrics, checkpoints: Checkpoints) {
    metrics.gauge(
      'governance_checkpoint_size',
      'Entries of the last checkpoint that this process has signed or found kept.',
      () => checkpoints.lastSize,
    );
    metrics.gauge(
      'governance_checkpoint_contradicted',
      '1 while the log contradicts the kept checkpoint, so that none is signed, otherwise 0.',
      () => (checkpoints.isContradicted ? 1 : 0),
    );
  }
}

/** The memory held by large bodies, as metrics. */
@Injectable()
export class BodyMetrics {
  constructor(metrics: Metrics, gates: Gates) {
    const bodies = gates.of('bodies');
    metrics.gauge(
      'governance_held_body_bytes',
      'Bytes of the bodies above 16 KiB that are being read or processed.',
      () => bodies.held,
    );
    metrics.gauge(
      'governance_waiting_bodies',
      'Bodies above 16 KiB that wait unread until others have been processed.',
      () => bodies.waiting,
    );
  }
}

/** The memory held by large answers, as a metric. */
@Injectable()
export class AnswerMetrics {
  constructor(metrics: Metrics, gates: Gates) {
    const answers = gates.of('answers');
    metrics.gauge(
      'governance_held_answer_bytes',
      'Bytes of the answers above 16 KiB that their clients have not read yet.',
      () => answers.held,
    );
  }
}

/** How far a verification of the chain is, as a metric. */
@Injectable()
export class VerificationMetrics {
  constructor(metrics: Metrics, verifier: ChainVerifier) {
    metrics.gauge(
      'governance_verification_entry',
      'Last entry hashed by the verification that is running in this process; 0 while none is running.',
      () => verifier.at,
    );
  }
}
