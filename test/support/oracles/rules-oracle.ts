import { canonicalHash } from '../../verification/recompute-chain';
import type { TestApp } from '../application/create-test-app';
import { send, type Parsed } from '../application/send';
import { withoutUnset } from '../requests/sealed-form';

type ServedApp = Pick<TestApp, 'url'>;

/** The policies in force, as GET shows them, in the form that `rules` hashes. */
export async function rulesOf(app: ServedApp): Promise<string> {
  const { data } = (await send(app, 'GET', '/api/v1/policies?status=active&limit=1000')).body;
  return rulesFrom(data.map(contentOf));
}

/** @param contents as decision files have them. */
export function rulesFrom(contents: readonly Parsed[], defaultEffect = 'deny'): string {
  const policies = contents.map((content): [string, string] => [content.id, canonicalHash(content)]);
  policies.sort(([one], [other]) => (one < other ? -1 : 1));
  return canonicalHash({ defaultEffect, evaluation: 4, policies });
}

const NO_CONTENT = ['status', 'warnings', 'createdAt'];

function contentOf(policy: Parsed): Parsed {
  return withoutUnset(Object.fromEntries(Object.entries(policy).filter(([name]) => !NO_CONTENT.includes(name))));
}
