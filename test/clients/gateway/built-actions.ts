import { dirname, join } from 'node:path';
import { buildCommandLine, MAIN } from '../command-line';
import { startAnsweringProcess } from '../answering-process';

export interface GatewayRequest {
  readonly method?: string;
  readonly target: string;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
  /** A character for each byte. */
  readonly body?: string;
}

export interface ActionOrRefusal {
  readonly status?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly route?: string;
  readonly resource?: { readonly type: string; readonly id: string };
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly secret?: readonly string[];
}

let actionsOf: ReturnType<typeof startAnsweringProcess> | undefined;

/** Builds, in a process that remains, the actions that the built gateway makes of requests to an upstream. */
export async function buildActions(
  upstream: Readonly<Record<string, unknown>>,
  requests: readonly GatewayRequest[],
): Promise<ActionOrRefusal[]> {
  await buildCommandLine();
  const folder = join(dirname(MAIN), 'gateway');
  const file = { upstreams: { api: { url: 'https://api.example', ...upstream } } };
  actionsOf ??= startAnsweringProcess([join(__dirname, 'build-actions.mjs'), folder]);
  return (await actionsOf({ file, requests })) as ActionOrRefusal[];
}
