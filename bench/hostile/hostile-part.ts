import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SAMPLE_REQUEST } from '../http/sample-entity';
import { number, printSingleRatio, printTable } from '../support/report';
import { ServerProcess } from '../support/server-process';
import { API_KEY } from '../support/settings';
import { median, percentile } from '../support/statistics';
import type { Workplace } from '../support/workplace';
import { benchmarkRouteStalls } from './route-stalls';
import { benchmarkStalls } from './stalls';

/** Sources are compiled into `node_modules/.cache/bench`; the attackers are not compiled. */
const ATTACKERS = join(__dirname, '../../../../../bench/hostile/hostile-clients.mjs');
const SECONDS = 30;
/** Milliseconds between two requests of the client that works normally. */
const PAUSE = 5;
/** Bar in milliseconds for the 99th percentile of its answers. */
const BAR = 250;
const MEBIBYTE = 1_048_576;

/** Measures the waits of a client while another address attacks in every way at once. */
export async function benchmarkHostileClients(workplace: Workplace): Promise<void> {
  const service = await ServerProcess.start(workplace, 'service', 'hostile');
  await benchmarkStalls(service);
  await benchmarkRouteStalls(service, workplace);
  const alone = await latenciesUntil(service, delay(SECONDS * 200));
  const attackers = spawn(process.execPath, [ATTACKERS, service.url, API_KEY, String(SECONDS), '1'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  workplace.add({ stop: async () => void attackers.kill('SIGKILL') });
  const latencies = await latenciesUntil(service, once(attackers, 'exit'));
  printTable(
    ['POST and GET of a client at another address, ms', 'requests', 'median', 'p99', 'longest'],
    [row('alone', alone), row('under attack', latencies)],
  );
  printTable(['memory held', 'MiB'], [['after the attack', number(service.residentBytes / MEBIBYTE)]]);
  printSingleRatio(`p99 under attack / ${BAR} ms`, percentile(latencies, 0.99) / BAR, { atMost: 1 });
}

function row(when: string, latencies: readonly number[]): string[] {
  const figures = [median(latencies), percentile(latencies, 0.99), Math.max(...latencies)];
  return [when, number(latencies.length), ...figures.map((milliseconds) => number(milliseconds, 1))];
}

/** Returns the milliseconds that each answer took. A refusal is an error: this client does nothing wrong. */
async function latenciesUntil(service: ServerProcess, end: Promise<unknown>): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress: '127.0.0.2' });
  const latencies: number[] = [];
  const controller = new AbortController();
  void end.then(() => controller.abort());
  while (!controller.signal.aborted) {
    latencies.push(await latency(agent, `${service.url}/api/v1/entities`, JSON.stringify(SAMPLE_REQUEST)));
    latencies.push(await latency(agent, `${service.url}/api/v1/entities?limit=1`));
    await delay(PAUSE);
  }
  agent.destroy();
  return latencies;
}

function latency(agent: Agent, url: string, body?: string): Promise<number> {
  const start = performance.now();
  const headers = { 'X-API-Key': API_KEY, 'Content-Type': 'application/json' };
  return new Promise((resolve, reject) => {
    const clientRequest = request(url, { agent, method: body === undefined ? 'GET' : 'POST', headers }, (answer) => {
      const { statusCode = 0 } = answer;
      if (statusCode >= 400) reject(new Error(`A client that does nothing wrong was answered ${statusCode}.`));
      answer.resume().once('end', () => resolve(performance.now() - start));
    });
    clientRequest.once('error', (error) => {
      // The service may close an idle connection; the client then opens another one.
      if (clientRequest.reusedSocket) latency(agent, url, body).then(resolve, reject);
      else reject(error);
    });
    clientRequest.end(body);
  });
}
