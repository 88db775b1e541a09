import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { number, printSingleRatio, printTable } from '../support/report';
import type { ServerProcess } from '../support/server-process';
import { API_KEY } from '../support/settings';
import { percentile } from '../support/statistics';
import { HealthProbe } from '../verification/health-probe';

/** Number of large records. A page has room for eight of them: its content has at most 8 MiB. */
const LARGE_RECORDS = 24;
const CONTENT = 'x'.repeat(1_000_000);
const REPEATED = 5;
/** Maximum milliseconds for which a single request should delay others. */
const BAR = 50;

/**
 * Measures the delay of other requests by one large answer: the longest wait of `GET /health`, which is sent 200 times
 * a second meanwhile.
 */
export async function benchmarkStalls(service: ServerProcess): Promise<void> {
  const headers = { 'X-API-Key': API_KEY, 'Content-Type': 'application/json' };
  for (let index = 0; index < LARGE_RECORDS; index += 1) {
    const body = JSON.stringify({ type: 'large', name: `${index}`, properties: { content: CONTENT } });
    const { ok, status } = await fetch(`${service.url}/api/v1/entities`, { method: 'POST', headers, body });
    if (!ok) throw new Error(`A large record was answered ${status}.`);
  }
  // Reads in another process: this one has to notice the answers to its probes in time.
  const readAnswer = async (path: string): Promise<void> => {
    const words = ['--silent', '--fail', '--output', '/dev/null', '--header', `X-API-Key: ${API_KEY}`];
    await promisify(execFile)('curl', [...words, `${service.url}/api/v1/${path}`]);
  };
  const page = await waits(service, () => readAnswer('entities?type=large&limit=8'));
  const whole = await waits(service, () => readAnswer('provenance/export'));
  const figures = (latencies: readonly number[]): string[] =>
    [percentile(latencies, 0.99), Math.max(...latencies)].map((milliseconds) => number(milliseconds, 1));
  printTable(
    ['GET /health during one large answer, ms', 'p99', 'longest'],
    [
      ['a page of 8 MiB', ...figures(page)],
      ['an export', ...figures(whole)],
    ],
  );
  printSingleRatio(`longest wait during a page of 8 MiB / ${BAR} ms`, Math.max(...page) / BAR, { atMost: 1 });
  printSingleRatio(`longest wait during an export / ${BAR} ms`, Math.max(...whole) / BAR, { atMost: 1 });
}

async function waits(service: ServerProcess, request: () => Promise<void>): Promise<readonly number[]> {
  const probe = new HealthProbe(service.url);
  for (let index = 0; index < REPEATED; index += 1) await request();
  return (await probe.stop()).latencies;
}
