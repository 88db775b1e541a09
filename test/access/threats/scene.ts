import { type TestApp } from '../../support/application/create-test-app';
import { type Company } from '../../approvals/support';
import { type Answer } from '../../support/application/send';

/** The starting point of every chain: its own company, with keys that were issued for good reasons. */
export interface Scene {
  readonly app: TestApp;
  readonly people: Company;
  readonly place: { readonly resourceId: string };
  readonly keyOf: (agentId: string | null, ...scopes: string[]) => Promise<string>;
  /** Tokens of an identity provider that may speak for the role `auditing`, which Tina has, but not for Sven. */
  readonly tokens: Tokens;
}

export interface Tokens {
  readonly tina: string;
  readonly tinaElsewhere: string;
  readonly sven: string;
}

/** `key` may be a token. */
export type Send = (
  key: string,
  method: string,
  path: string,
  body?: object,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>;

/** A chain of calls that must not lead to a right. The last answer refuses it. */
export interface Chain {
  readonly right: string;
  readonly holder: string;
  readonly calls: string;
  readonly walk: (scene: Scene, call: Send) => Promise<Answer>;
  /** The status, and the reason of a refusal by rule. */
  readonly end: readonly [status: number, reason?: string];
}

/** Asks for a refund. */
export async function requestRefund(key: string, { bot }: Company, body: object, call: Send): Promise<Answer> {
  const action = { action: 'refund', resourceType: 'payment', parameters: { amount: 80 } };
  return call(key, 'POST', `agents/${bot.name}/execute`, { ...action, ...body });
}
