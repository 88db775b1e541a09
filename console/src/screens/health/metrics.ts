import { requestPlain } from '../../api/plain.js';
import { GovernanceError, type TransportOptions } from '../../api/types.js';

/** One value of a metric, with its labels. */
interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A snapshot of the metrics, parsed from the text format of Prometheus. */
export class MetricsText {
  private readonly samples = new Map<string, Sample[]>();

  constructor(text: string) {
    for (const line of text.split('\n')) {
      const [, name, labels = '', value] = /^([a-z_:]+)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
      if (name === undefined) continue;
      const samples = this.samples.get(name) ?? [];
      samples.push({ labels: labelsOf(labels), value: Number(value) });
      this.samples.set(name, samples);
    }
  }

  /** The sum of all values of a metric; 0 for an unknown one. */
  sum(name: string, matches: (labels: Sample['labels']) => boolean = () => true): number {
    const all = this.samples.get(name) ?? [];
    return all.filter(({ labels }) => matches(labels)).reduce((total, { value }) => total + value, 0);
  }

  /** The upper bound, in seconds, of a share of a histogram's values; null for an empty one. */
  quantile(name: string, share: number): number | null {
    const total = this.sum(`${name}_count`);
    if (total === 0) return null;
    const bounds = new Map<number, number>();
    for (const { labels, value } of this.samples.get(`${name}_bucket`) ?? []) {
      const limit = labels['le'] === '+Inf' ? Infinity : Number(labels['le']);
      bounds.set(limit, (bounds.get(limit) ?? 0) + value);
    }
    const sorted = [...bounds].sort(([left], [right]) => left - right);
    return sorted.find(([, count]) => count >= share * total)?.[0] ?? null;
  }
}

/** Null if the metrics have their own port. */
export async function metricsOf(connection: TransportOptions, signal: AbortSignal): Promise<MetricsText | null> {
  try {
    return new MetricsText(await (await requestPlain(connection, '/metrics', signal)).text());
  } catch (error) {
    if (error instanceof GovernanceError && error.status === 404) return null;
    throw error;
  }
}

function labelsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );
}
