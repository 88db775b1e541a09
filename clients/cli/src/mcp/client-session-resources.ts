import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { otherAnswers, resultOnly } from './tool-results.js';
import type { GovernedServer } from './servers/governed-server.js';
import { isPlainUri, readRequestOf } from './mapping.js';
import { governed, type Offered } from './client-session.js';
import { traceMeta } from './trace-of-call.js';
import type { Listing } from './visible.js';

export function offerResources(offered: Offered, subscribed: Set<string>): void {
  const { server, servers, gate, visible } = offered;
  server.setRequestHandler('resources/list', async () => {
    const found = await servers.list('resources');
    // Of two servers with one URI, the first is the one that is read from.
    const firsts = found.filter(({ item }, index) => found.findIndex((other) => other.item.uri === item.uri) === index);
    const listed = firsts.map((one) => ({ item: one.item, question: questionOf(one.server, one.item.uri) }));
    return { resources: await visible.among(servers, await gate.agent(), 'resource', listed) };
  });
  server.setRequestHandler('resources/templates/list', async () => ({
    // What is asked is known only once a URI is made of one.
    resourceTemplates: (await servers.list('resourceTemplates')).map(({ item }) => item),
  }));
  server.setRequestHandler('resources/read', ({ params: { uri } }, context) =>
    read<ReadResourceResult>(offered, context, { method: 'resources/read', uri }),
  );
  server.setRequestHandler('resources/subscribe', async ({ params: { uri } }, context) => {
    const result = await read<object>(offered, context, { method: 'resources/subscribe', uri });
    if (!('inputRequests' in result)) subscribed.add(uri);
    return result;
  });
  server.setRequestHandler('resources/unsubscribe', async ({ params: { uri } }) => {
    subscribed.delete(uri);
    const of = servers.only ?? (await servers.withResource(uri));
    await of?.unsubscribe(uri);
    return {};
  });
}

function questionOf(server: string, uri: string): Listing<unknown>['question'] {
  return isPlainUri(uri) ? readRequestOf(server, uri) : 'hidden';
}

interface Reading {
  readonly method: 'resources/read' | 'resources/subscribe';
  readonly uri: string;
}

/** Who is sent the changes of a resource has read it, so subscribing asks as reading does. */
async function read<Result>(offered: Offered, context: ServerContext, { method, uri }: Reading): Promise<Result> {
  const { servers } = offered;
  // A subscription to the only server shows nothing of the resource itself.
  const only = method === 'resources/subscribe' ? servers.only : null;
  const of: GovernedServer | null = only ?? (await servers.withResource(uri));
  if (of === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `No server lists a resource ${uri}.`);
  const name = `${method} of ${uri}`;
  return (await governed<Result>(offered, context, {
    name,
    requestOf: () => ({ ...readRequestOf(of.name, uri), parameters: { uri } }),
    run: async (passing) => {
      if (method === 'resources/subscribe') return (await of.subscribe(uri, passing)) as Result;
      return of.passed(name, passing, async (client, options) => {
        const params = { uri, ...traceMeta() };
        const result = await client.request({ method, params }, options);
        return resultOnly(result, 'contents') as Result;
      });
    },
    answers: otherAnswers(),
  })) as Result;
}
