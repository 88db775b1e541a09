import { generateLoad, type LoadRequest } from '../support/load-generator';
import type { ServerProcess } from '../support/server-process';
import { API_KEY, CONNECTIONS } from '../support/settings';
import { percentile } from '../support/statistics';

/** Figures of one server under load. */
export interface LoadFigures {
  readonly requestsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  /** Microseconds of processor time per request, all threads of the server together. */
  readonly processorMicroseconds: number;
}

/** Sends the requests over and over. Throws when an answer is anything but 2xx. */
export async function load(
  server: ServerProcess,
  requests: readonly LoadRequest[],
  seconds: number,
  connections = CONNECTIONS,
): Promise<LoadFigures> {
  const usual = { 'X-API-Key': API_KEY, 'Content-Type': 'application/json' };
  const completeRequests = requests.map((request) => ({ ...request, headers: { ...usual, ...request.headers } }));
  const processorBefore = server.processorSeconds;
  const start = performance.now();
  const { times, refused } = await generateLoad(server.url, completeRequests, { connections, seconds });
  const elapsedSeconds = (performance.now() - start) / 1000;
  const processor = server.processorSeconds - processorBefore;
  if (refused > 0) throw new Error(`${refused} requests failed at ${server.url}: nothing can be said of this run.`);
  return {
    requestsPerSecond: times.length / elapsedSeconds,
    p50: percentile(times, 0.5),
    p90: percentile(times, 0.9),
    p99: percentile(times, 0.99),
    processorMicroseconds: (processor / times.length) * 1e6,
  };
}
