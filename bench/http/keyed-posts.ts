import type { Request } from 'autocannon';
import type { Effort } from '../parts';
import { number, printLine, printRatio, printTable } from '../support/report';
import type { ServerProcess } from '../support/server-process';
import { median, ratioOf } from '../support/statistics';
import { load, type LoadFigures } from './load';
import { SAMPLE_REQUEST } from './sample-entity';

/** Replaced by another text in each request. */
const FRESH = '[<id>]';
/** Requests per second with a key against those without, at least; processor time, at most. */
const BARS = { requestsPerSecond: 0.67, processorMicroseconds: { atMost: 1.5 } };

/** The same POST with an idempotency key of its own and without, in turns; the header without meaning is as long. */
const KINDS = {
  'with a key': postWith('Idempotency-Key'),
  'without one': postWith('Unregarded-Key'),
} as const;

type Kind = keyof typeof KINDS;

/** What it costs a POST to be kept for its repetition. */
export async function benchmarkKeyedPosts(service: ServerProcess, { seconds, rounds }: Effort): Promise<void> {
  const figures: Record<Kind, LoadFigures[]> = { 'with a key': [], 'without one': [] };
  const kinds = Object.keys(KINDS) as Kind[];
  for (let round = 0; round <= rounds; round += 1) {
    for (const kind of kinds) {
      const loaded = await load(service, [KINDS[kind]], seconds, { idReplacement: true });
      if (round > 0) figures[kind].push(loaded);
    }
  }
  const of = (kind: Kind, name: keyof LoadFigures): number[] => figures[kind].map((round) => round[name]);
  const row = (kind: Kind): string[] => [
    kind,
    number(median(of(kind, 'requestsPerSecond'))),
    number(median(of(kind, 'processorMicroseconds'))),
  ];
  printTable(
    [`POST and Idempotency-Key, ${rounds} × ${seconds} s`, 'requests/s', 'processor µs/request'],
    kinds.map(row),
  );
  printLine();
  for (const [name, title] of [
    ['requestsPerSecond', 'requests/s'],
    ['processorMicroseconds', 'processor'],
  ] as const) {
    const ratio = ratioOf(of('with a key', name), of('without one', name));
    printRatio(`POST, ${title}: with an Idempotency-Key / without`, ratio, BARS[name]);
  }
}

function postWith(header: string): Request {
  const headers = { [header]: FRESH };
  return { method: 'POST', path: '/api/v1/entities', body: JSON.stringify(SAMPLE_REQUEST), headers };
}
