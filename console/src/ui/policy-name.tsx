import type { JSX } from 'preact';
import type { PolicyReference } from '../api/types.js';
import { showInvisible } from './format.js';
import { Link } from './link.js';

/** A policy's name and version, linked to its page. */
export function PolicyName({
  policy: { id, name, version },
}: {
  readonly policy: Omit<PolicyReference, 'effect'>;
}): JSX.Element {
  return <Link to={`policies/${id}`}>{showInvisible(`${name} ${version}`)}</Link>;
}
