import type { ServerResponse } from 'node:http';

/**
 * Calls back when the handler or the exception filter answers, even if the client has left: `close` would fire at once
 * then, while the work is still under way with all that it holds.
 */
export function onAnswer(response: ServerResponse, callBack: () => void): void {
  const end = response.end.bind(response) as (...parameters: unknown[]) => ServerResponse;
  Object.assign(response, {
    end: (...parameters: unknown[]) => {
      callBack();
      return end(...parameters);
    },
  });
}
