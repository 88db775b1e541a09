import { labelFault } from '../../shared/label-fault';

/** What an action of a policy has to be, or undefined if it is valid: an exact name, a prefix with `*`, or `*`. */
export function actionFault(text: string): string | undefined {
  if (text.trim() === '') return 'must not be blank';
  return text.slice(0, -1).includes('*') ? 'may contain "*" only at its end' : undefined;
}

/** Why no agent can have such an action as a capability, or undefined if one can. */
export function deadActionFault(text: string): string | undefined {
  // A prefix may end with white space, as something can follow it.
  return labelFault(text);
}
