import type { Effort } from '../support/effort';
import { type Bar, number, printLine, printRatio, printTable } from '../support/report';
import type { ServerProcess } from '../support/server-process';
import { median, ratioOf } from '../support/statistics';
import type { LoadRequest } from '../support/load-generator';
import { load, type LoadFigures } from './load';

/** Two kinds of one request. The first has all costs of the second, and one more. */
export interface RequestPair {
  readonly title: string;
  /** Name of the ratios, such as `POST`. */
  readonly name: string;
  readonly first: LabelledRequest;
  readonly second: LabelledRequest;
  /** Ratio of the first to the second. */
  readonly bars: Readonly<Record<'requestsPerSecond' | 'processorMicroseconds', Bar | number>>;
}

interface LabelledRequest {
  readonly is: string;
  readonly request: LoadRequest;
}

/** Loads the service with both kinds alternately. The first round warms up the JIT compiler, and is not counted. */
export async function benchmarkPair(service: ServerProcess, pair: RequestPair, effort: Effort): Promise<void> {
  const { title, name, bars } = pair;
  const { seconds, rounds } = effort;
  const sides = [pair.first, pair.second].map((kind) => ({ ...kind, figures: [] as LoadFigures[] }));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { request, figures } of sides) {
      const loadFigures = await load(service, [request], seconds);
      if (round > 0) figures.push(loadFigures);
    }
  }
  const rows = sides.map(({ is, figures }) => [
    is,
    number(median(figures.map(({ requestsPerSecond }) => requestsPerSecond))),
    number(median(figures.map(({ processorMicroseconds }) => processorMicroseconds))),
  ]);
  printTable([`${title}, ${rounds} × ${seconds} s`, 'requests/s', 'processor µs/request'], rows);
  printLine();
  for (const [figure, unit] of [
    ['requestsPerSecond', 'requests/s'],
    ['processorMicroseconds', 'processor'],
  ] as const) {
    const [first = [], second = []] = sides.map(({ figures }) => figures.map((round) => round[figure]));
    printRatio(`${name}, ${unit}: ${pair.first.is} / ${pair.second.is}`, ratioOf(first, second), bars[figure]);
  }
}
