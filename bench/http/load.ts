import autocannon, { type Options, type Request } from 'autocannon';
import type { ServerProcess } from '../support/server-process';
import { API_KEY, CONNECTIONS } from '../support/settings';
import { percentile } from '../support/statistics';

/** What one server did under load for a while. */
export interface LoadFigures {
  readonly requestsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  /** Microseconds of processor time per request, all threads of the server together. */
  readonly processorMicroseconds: number;
}

export type ClientOptions = Pick<Options, 'idReplacement' | 'connections'>;

/**
 * Sends the requests over and over, on 64 connections unless the options say otherwise. Throws when an answer is anything
 * but 2xx.
 */
export async function load(
  server: ServerProcess,
  requests: Request[],
  seconds: number,
  options: ClientOptions = {},
): Promise<LoadFigures> {
  const times: number[] = [];
  const processorBefore = server.processorSeconds;
  const start = performance.now();
  const result = await run({ ...options, url: server.url, requests, duration: seconds }, times);
  const elapsed = (performance.now() - start) / 1000;
  const processor = server.processorSeconds - processorBefore;
  const failed = result.non2xx + result.errors + result.timeouts;
  if (failed > 0) throw new Error(`${failed} requests failed at ${server.url}: nothing can be said of this run.`);
  return {
    requestsPerSecond: times.length / elapsed,
    p50: percentile(times, 0.5),
    p90: percentile(times, 0.9),
    p99: percentile(times, 0.99),
    processorMicroseconds: (processor / times.length) * 1e6,
  };
}

function run(options: Options, times: number[]): Promise<autocannon.Result> {
  return new Promise((resolve, reject) => {
    const headers = { 'X-API-Key': API_KEY, 'Content-Type': 'application/json' };
    const instance = autocannon({ connections: CONNECTIONS, ...options, headers }, (error, result) => {
      if (error === null || error === undefined) resolve(result);
      else reject(error instanceof Error ? error : new Error(String(error)));
    });
    instance.on('response', (_client, _status, _bytes, time) => times.push(time));
  });
}
