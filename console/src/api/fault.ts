import { GovernanceError } from './types.js';

/** A mistake that the page itself finds. */
export class Fault extends Error {
  constructor(
    message: string,
    readonly advice: string,
  ) {
    super(message);
  }
}

/** The text about an error for people: what happened, and what they can do. */
export function explain(error: unknown): { readonly message: string; readonly advice: string } {
  if (error instanceof GovernanceError) return { message: whatOf(error), advice: adviceFor(error) };
  if (error instanceof Fault) return { message: error.message, advice: error.advice };
  if (error instanceof SyntaxError) return { message: `This is not JSON: ${error.message}`, advice: 'Correct it.' };
  return { message: error instanceof Error ? error.message : String(error), advice: 'Reload the page and try again.' };
}

/** The service speaks of headers, which people who sign in do not see. */
function whatOf({ code, message }: GovernanceError): string {
  return code === 'UNAUTHORIZED' ? 'The service does not know this key.' : message;
}

function adviceFor({ code, reason, status }: GovernanceError): string {
  if (code === 'UNREACHABLE') return 'Check that the service runs and that this machine is online, then try again.';
  if (code === 'RATE_LIMITED') return 'Wait a minute, then try again.';
  if (code === 'UNAUTHORIZED') return 'Check the key, or ask an administrator for another one.';
  if (reason === 'managed_by_directory')
    return 'Change it in the directory, which sends it with its next synchronisation.';
  if (code === 'CONFLICT' || code === 'PRECONDITION_FAILED')
    return 'Something has changed since this page showed it. Look at it again.';
  if (code === 'CONTENT_ERASED') return 'What was erased cannot be shown again.';
  if (code === 'NOT_FOUND') return 'It may be gone, or your key may not see it.';
  if (reason === 'scope_missing') return 'Ask an administrator for a key with that scope.';
  if (reason === 'reviewer_not_bound') return 'Sign in with a key of your own, bound to you as an agent.';
  if (status === 503) return 'The service is busy. Try again in a moment.';
  return status === 403 ? 'Ask an administrator if you think you should be able to do this.' : 'Try again.';
}
