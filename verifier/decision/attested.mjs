/**
 * What nothing in a file or its rules leads to, so that it is only the word of whoever sealed the log: by member, or by action and
 * member, each with why it decides nothing here. Nothing that a signature of a person covers is among it.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @type {Readonly<Record<string, string>>}
 */
export const ATTESTED = {
  'audit.id': 'names the entry',
  'audit.actor': 'who authenticated is known to the service alone',
  'audit.ip': 'where a request came from is known to the service alone',
  'audit.requestId': 'names the request',
  'audit.entityId': 'whether the entity existed is not in a file',
  'audit.timestamp': 'the operator’s clock, between the entries before and after',
  'agent.suspended audit.reason': 'words of a caller',
  'agent.resumed audit.reason': 'words of a caller',
  'execution.cancelled audit.reason': 'words of a caller',
  'execution.completed audit.reason': 'the code of a handler that failed',
  'decision.cancelled audit.reason': 'words of a caller',
  'grant.revoked audit.reason': 'words of a caller',
  'stop.lifted audit.reason': 'words of a caller',
  'stop.created audit.agentId': 'whose key it was',
  'stop.lifted audit.agentId': 'whose key it was',
  'decision.approval_denied audit.agentId': 'a refused review changes nothing',
  'decision.approval_denied audit.reason': 'a refused review changes nothing',
  'decision.approval_denied details.policies': 'a refused review changes nothing',
  'decision.rejection_denied audit.agentId': 'a refused review changes nothing',
  'decision.rejection_denied audit.reason': 'a refused review changes nothing',
  'decision.rejection_denied details.policies': 'a refused review changes nothing',
  'details.audience': 'for which system a permit was asked',
  'details.fields': 'which members an older state had otherwise',
  'execution.run': 'the program of the agent names it; conditions on the run are recomputed',
  'execution.via': 'which gateway asked is known to the service alone',
  'execution.completed execution.reason': 'a word of who carried it out',
  'execution.traceId': 'the program of the agent names it',
  'execution.result': 'what the action came to is known to who carried it out',
  'execution.failureReason': 'words of who carried it out, or of the service',
  'execution.authorized execution.outcome': 'whether a handler or the caller carries it out',
  'execution.resumed execution.outcome': 'whether a handler or the caller carries it out',
  'decision.reviews[].comment': 'words of a reviewer',
  'decision.reviews[].grant': 'what an unsigned review gave besides, where no grant came of it in the file',
  'agent.description': 'a text',
  'agent.slackId': 'where messages go',
  'policy.description': 'a text',
  'stop.reason': 'a text',
  'passkey.name': 'a text',
  'passkey.credentialId': 'by which a browser finds the key; the key itself is checked',
};

/**
 * The attested members that a file has.
 * @param {readonly Json[]} entries
 */
export function attestedIn(entries) {
  const found = new Set();
  for (const name of Object.keys(ATTESTED)) {
    const [member = '', action] = name.split(' ').reverse();
    const [of = '', ...path] = member.split('.');
    const isThere = entries.some(
      ({ subjectType, audit, state }) =>
        (action === undefined || action === audit.action) &&
        (of === 'audit' || of === 'details' || of === subjectType) &&
        isAt(of === 'audit' ? audit : of === 'details' ? audit.details : state, path),
    );
    if (isThere) found.add(member);
  }
  return [...found].sort();
}

/**
 * @param {Json} value
 * @param {readonly string[]} path
 * @returns {boolean} whether there is something, which is not empty
 */
function isAt(value, [name = '', ...rest]) {
  const member = value[name.replace('[]', '')] ?? null;
  const items = Array.isArray(member) && name.endsWith('[]') ? member : [member];
  return items.some((item) => (rest.length > 0 && item !== null ? isAt(item, rest) : item !== null && item !== ''));
}
