import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionResponse } from '../../../src/governance/executions/dto/execution.dto';
import { until } from '../../faults/support/watch';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { keepSecret } from '../../support/application/secret-watch';
import { send } from '../../support/application/send';
import { buildCommandLine, MAIN } from '../command-line';

/** The vendor's credential, which nobody but the vendor may see. */
export const CREDENTIAL = 'sk-vendor-credential-0815';

type Members = Readonly<Record<string, unknown>>;

/** A service with an agent, its key, and people who approve. */
export interface GatewayStage {
  readonly app: TestApp;
  readonly agentId: string;
  /** Key of the agent. */
  readonly key: string;
  /** Key with the scope `report`. */
  readonly reportKey: string;
  readonly folder: string;
  /** Approves, as somebody in finance, what waits for a decision. */
  approve(decisionId: string): Promise<void>;
  executions(query?: string): Promise<ExecutionResponse[]>;
  execution(id: string): Promise<ExecutionResponse>;
  /** The execution once it is no longer authorised or waiting. */
  ended(id: string): Promise<ExecutionResponse>;
  close(): Promise<void>;
}

/** Opens a stage on which `read` and `write` are allowed, `refund` needs an approval, and nothing else is allowed. */
export async function openStage(environment: NodeJS.ProcessEnv = {}): Promise<GatewayStage> {
  await buildCommandLine();
  const app = await createTestApp({ environment: { RATE_LIMIT: '1000000', TRUST_PROXY: '1', ...environment } });
  const { id: agentId } = await createAgent(app, { name: 'bot', capabilities: ['*'] });
  await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
  await createPolicy(app, { actions: ['read', 'write'] });
  const approval = { approvers: [{ subjects: ['role:finance'] }] };
  await createPolicy(app, { effect: 'require_approval', actions: ['refund'], approval });
  const { secret: key } = await issueKey(app, { name: 'bot', scopes: ['execute'], agentId });
  const { secret: reportKey } = await issueKey(app, { name: 'gateway', scopes: ['report'] });
  keepSecret(CREDENTIAL);
  const folder = mkdtempSync(join(tmpdir(), 'gov-gateway-'));
  const execution = async (id: string): Promise<ExecutionResponse> =>
    (await send(app, 'GET', `/api/v1/executions/${id}`)).body;
  return {
    ...{ app, agentId, key, reportKey, folder, execution },
    approve: async (decisionId) => {
      const { status } = await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, {
        body: { approverId: 'ann' },
      });
      expect(status).toBe(200);
    },
    executions: async (query = '') => (await send(app, 'GET', `/api/v1/executions?limit=1000${query}`)).body.data,
    ended: async (id) => {
      const isOpen = async (): Promise<boolean> =>
        ['authorized', 'pending_approval', 'approved'].includes((await execution(id)).outcome);
      await until(`the execution ${id} has ended`, async () => !(await isOpen()));
      return execution(id);
    },
    close: async () => {
      rmSync(folder, { recursive: true, force: true });
      await app.close();
    },
  };
}

/** A gateway in a process of its own. */
export interface StartedGateway {
  readonly url: string;
  readonly process: ChildProcess;
  readonly journal: string;
  readonly file: string;
  /** Its output so far. */
  printed(): string;
  /** Requests like `fetch`, with the agent's key as a bearer unless the headers say otherwise. */
  call(path: string, request?: GatewayCall): Promise<GatewayAnswer>;
  /**
   * Ends it with a signal and returns its exit code. Nothing that it wrote may have the credential or the agent's key.
   */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface GatewayCall {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as a form. */
  readonly form?: string;
  readonly signal?: AbortSignal;
}

export interface GatewayAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed error; undefined where the answer has none. */
  readonly error: GatewayErrorBody | undefined;
}

interface GatewayErrorBody {
  readonly code: string;
  readonly message: string;
  readonly reason: string | null;
  readonly requestId: string;
  readonly executionId?: string;
  readonly decisionId?: string;
  readonly rejection?: { readonly comment: string | null };
}

export interface GatewaySettings {
  readonly name?: string;
  readonly environment?: NodeJS.ProcessEnv;
  /** Members of the file besides the upstreams. */
  readonly file?: Members;
}

/** Starts a gateway that serves these upstreams. */
export async function startGateway(
  stage: Pick<GatewayStage, 'app' | 'key' | 'reportKey' | 'folder'>,
  upstreams: Members,
  { name = 'gateway', environment = {}, file: members = {} }: GatewaySettings = {},
): Promise<StartedGateway> {
  const file = join(stage.folder, `${name}.json`);
  const journal = join(stage.folder, `${name}-journal`);
  const listening = { listen: '127.0.0.1:0', service: stage.app.url, journal: `./${name}-journal` };
  writeFileSync(file, JSON.stringify({ ...listening, upstreams, ...members }));
  return startGatewayFile(stage, file, journal, environment);
}

/** Starts a gateway by a file that is there. */
export async function startGatewayFile(
  { key, reportKey, folder }: Pick<GatewayStage, 'key' | 'reportKey' | 'folder'>,
  file: string,
  journal: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<StartedGateway> {
  const variables = { PATH: process.env['PATH'], HOME: folder, VENDOR_KEY: CREDENTIAL, GOVERNANCE_API_KEY: reportKey };
  const program = spawn(process.execPath, [MAIN, 'gateway', file], {
    cwd: folder,
    env: { ...variables, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(program, 'close');
  let printed = '';
  for (const stream of [program.stdout, program.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const address = (): string | undefined => /Listening on (http[^"]+)/.exec(printed)?.[1];
  await until('the gateway listens', () => address() !== undefined || program.exitCode !== null);
  const url = address();
  if (url === undefined) throw new Error(`The gateway ended with ${program.exitCode}: ${printed}`);
  return {
    ...{ url, process: program, journal, file },
    printed: () => printed,
    call: (path, request) => callGateway(url, path, { ...request, headers: { ...bearer(key), ...request?.headers } }),
    stop: async (signal = 'SIGTERM') => {
      program.kill(signal);
      const [exitCode] = (await ended) as [number | null];
      for (const text of [printed, ...filesIn(journal)]) {
        expect(text).not.toContain(CREDENTIAL);
        expect(text).not.toContain(key);
        expect(text).not.toContain(reportKey);
      }
      return exitCode;
    },
  };
}

export function bearer(key: string): Record<string, string> {
  return { Authorization: `Bearer ${key}` };
}

/** Sends one request. No answer may have the vendor's credential. */
export async function callGateway(
  url: string,
  path: string,
  { method, headers = {}, json, form, signal }: GatewayCall,
): Promise<GatewayAnswer> {
  const body = form ?? (json === undefined ? undefined : JSON.stringify(json));
  const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
  const response = await fetch(`${url}${path}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { ...(body !== undefined && { 'Content-Type': type }), ...headers },
    redirect: 'manual',
    ...(body !== undefined && { body }),
    ...(signal !== undefined && { signal }),
  });
  const text = await response.text();
  expect(text).not.toContain(CREDENTIAL);
  return { status: response.status, headers: response.headers, text, error: errorIn(text) };
}

function errorIn(text: string): GatewayErrorBody | undefined {
  try {
    return (JSON.parse(text) as { error?: GatewayErrorBody }).error;
  } catch {
    return undefined;
  }
}

function filesIn(folder: string): string[] {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'utf8'));
}

/** A credential in `Authorization`. */
export const VENDOR_CREDENTIAL = { header: 'Authorization', value: 'Bearer ${env:VENDOR_KEY}' };

/** A route whose resource is its path. */
export function route(match: string, action: string, members: Members = {}): Members {
  const id = match.replace(/^\S+ \//, '').replace(/[:*](\w+)/g, '${path:$1}');
  return { match, action, resource: { type: 'api', id }, ...members };
}
