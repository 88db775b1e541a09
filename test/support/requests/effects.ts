import type { Parsed } from '../application/send';
import type { StartedProgram } from '../processes/started-program';

/**
 * The effects of requests according to the audit: the actions of each request id, without those of the service itself.
 * An id such as `word_2` identifies a request and its attempt.
 */
export async function actionsByRequest(program: StartedProgram): Promise<Map<string, string[]>> {
  const actions = new Map<string, string[]>();
  for (let query: string | null = 'limit=1000&order=asc'; query !== null;) {
    const { body } = await program.send('GET', `/api/v1/audit?${query}`);
    for (const { actor, requestId, action } of body.data as Parsed[]) {
      // An erasure takes the request id with the rest.
      if (actor.type !== 'system' && requestId !== null)
        actions.set(requestId, [...(actions.get(requestId) ?? []), action]);
    }
    query = body.nextCursor === undefined ? null : `limit=1000&cursor=${encodeURIComponent(body.nextCursor)}`;
  }
  return actions;
}

/** Maps the words of requests to the effects of their attempts; each should have one. */
export async function effectsByWord(program: StartedProgram): Promise<Map<string, string[]>> {
  const effects = new Map<string, string[]>();
  for (const [requestId, actions] of await actionsByRequest(program)) {
    const word = requestId.replace(/_\d+$/, '');
    effects.set(word, [...(effects.get(word) ?? []), [...actions].sort().join()]);
  }
  return effects;
}
