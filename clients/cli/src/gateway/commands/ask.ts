import { DIGEST_ABOVE } from '../../large-values.js';
import type { GatewayConfig, HttpUpstream } from '../file/gateway-config.js';
import { type ActionRequest, buildAction } from '../request/build-action.js';
import { matchRequest, type RequestHead } from '../request/match-request.js';
import { isRefusal, type RequestRefusal } from '../request/request-refusal.js';
import { plain, printError, printJson, printLine } from '../../output.js';
import { clientOf, requireUsable, SettingsError } from '../../settings.js';
import { readRegularBytes } from '../../regular-file.js';
import { readSoundFile } from './file-faults.js';

export interface AskOptions {
  readonly data?: string;
  readonly header?: readonly string[];
  readonly query?: string;
}

interface AskRequest extends AskOptions {
  readonly method: string;
  readonly path: string;
}

const HEADER = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*(.*?)[ \t]*$/;

/** Prints the action of a request, and how the policies answer it. */
export async function askFile(file: string, request: AskRequest): Promise<void> {
  const sound = readSoundFile(file);
  if (sound === null) return;
  const action = await actionOf(sound.config, request);
  if (isRefusal(action)) {
    printError(plain(`${action.status} ${action.reason}: ${action.message}`));
    process.exitCode = 1;
    return;
  }
  const { route, resource, parameters } = action;
  printLine(plain(`Route     ${route.match}${route.isRecorded ? '' : ' (not recorded)'}`));
  printLine(plain(`Action    ${action.action}`));
  printLine(plain(`Resource  ${resource.type} ${resource.id}`));
  printJson(parameters);
  await printAnswer(sound.config.service, action);
}

async function actionOf(config: GatewayConfig, request: AskRequest): Promise<ActionRequest | RequestRefusal> {
  const { upstream, target } = upstreamOf(config, request.path);
  const head: RequestHead = {
    method: request.method,
    target: request.query === undefined ? target : `${target}${target.includes('?') ? '&' : '?'}${request.query}`,
    rawHeaders: headersOf(request),
  };
  const match = matchRequest(upstream, head);
  return isRefusal(match) ? match : buildAction(match, bodyOf(request.data), DIGEST_ABOVE);
}

/** The upstream that the first segment of the path names. */
function upstreamOf({ upstreams }: GatewayConfig, path: string): { upstream: HttpUpstream; target: string } {
  const [, name = '', rest = ''] = /^\/([^/?]*)(.*)$/s.exec(path) ?? [];
  const upstream = upstreams.find((each) => each.name === name);
  if (upstream === undefined) {
    const names = upstreams.map((each) => `/${each.name}`).join(', ');
    throw new SettingsError(`The path must begin with an upstream of the file: ${names}.`);
  }
  if (upstream.kind === 'mcp')
    throw new SettingsError(`${name} is an MCP server: gov gateway ask is for HTTP upstreams.`);
  return { upstream, target: rest.startsWith('/') ? rest : `/${rest}` };
}

function headersOf({ header = [], data }: AskRequest): string[] {
  const headers = header.flatMap((text) => {
    const [, name, value = ''] = HEADER.exec(text) ?? [];
    if (name === undefined)
      throw new SettingsError('A header is a name, a colon and a value, for example "Content-Type: text/plain".');
    return [name, value];
  });
  const isTyped = headers.some((name, index) => index % 2 === 0 && name.toLowerCase() === 'content-type');
  return data === undefined || isTyped ? headers : [...headers, 'Content-Type', 'application/json'];
}

function bodyOf(data: string | undefined): Buffer {
  if (data === undefined) return Buffer.alloc(0);
  return data.startsWith('@') ? readBody(data.slice(1)) : Buffer.from(data);
}

/** @throws SettingsError */
function readBody(path: string): Buffer {
  try {
    return readRegularBytes(path);
  } catch (error) {
    throw new SettingsError(`The file ${path} of --data cannot be read: ${(error as Error).message}`);
  }
}

async function printAnswer(service: URL, { action, resource, parameters, secret }: ActionRequest): Promise<void> {
  const key = process.env['GOVERNANCE_CALLER_KEY'];
  if (key === undefined || key === '') {
    printLine('The policies were not asked: set GOVERNANCE_CALLER_KEY to the key of the agent.');
    return;
  }
  requireUsable(key);
  const governance = clientOf({ url: service.href, key });
  const { agentId } = await governance.get('/api/v1/me');
  if (agentId === null)
    throw new SettingsError(
      'The key in GOVERNANCE_CALLER_KEY is bound to no agent: use the key of the agent that acts.',
    );
  const question = { agent: agentId, action, resourceType: resource.type, resourceId: resource.id, parameters };
  const answer = await governance.post('/api/v1/policies/evaluate', {
    body: { ...question, ...(secret.length > 0 && { secret: [...secret] }) },
  });
  if (!('effect' in answer)) throw new SettingsError('The service answered with several results to one question.');
  const by = answer.policies.map(({ name, version }) => `${name} ${version}`).join(', ');
  printLine(
    plain(
      `Answer    ${answer.effect}${answer.reason === null ? '' : ` (${answer.reason})`}${by === '' ? '' : `, by ${by}`}`,
    ),
  );
  if (answer.effect === 'deny') process.exitCode = 1;
}
