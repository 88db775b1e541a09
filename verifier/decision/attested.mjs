/**
 * Maps members for which only the sealer of the log vouches to the reason why each decides nothing here. Nothing else
 * in a file or its rules confirms them. A key is a member, an action and a member, or the type of a decision and a
 * member. The signatures of people are always checked.
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
  'agent.created audit.reason': 'words of a caller in an emergency',
  'agent.updated audit.reason': 'words of a caller in an emergency',
  'agent.suspended audit.reason': 'words of a caller',
  'agent.resumed audit.reason': 'words of a caller',
  'agent.access_reviewed details.rules': 'which rules a person had looked at; a review of access decides nothing',
  'agent.access_reviewed details.reviewedBy': 'who looked at them',
  'execution.cancelled audit.reason': 'words of a caller',
  'execution.completed audit.reason': 'the code of a handler that failed, or a word of who carried it out',
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
  'details.audience': 'for which system a permit was requested',
  'details.changeId': 'which decision approved a change of the rules',
  'details.breakGlass': 'whether a change of the rules was made in an emergency',
  'details.fields': 'which members an older state had otherwise',
  'change decision.approvers': 'whom CHANGE_APPROVERS named then is known to the service alone',
  'change decision.executeWithin': 'what CHANGE_WITHIN was then is known to the service alone',
  'change decision.traceId': 'the program of the caller names it',
  'change decision.change.method': 'what was proposed, if it was not made',
  'change decision.change.path': 'what was proposed, if it was not made',
  'change decision.change.bodyHash': 'the hash of a body that nobody keeps',
  'change_review decision.traceId': 'the program of the caller names it',
  'change_review decision.change.bodyHash': 'the hash of a body that nobody keeps',
  'change_review decision.context': 'an export shows which emergencies were open',
  'policy.warnings': 'what the service said about it',
  'execution.run': 'the program of the agent names it; conditions on the run are recomputed',
  'execution.via': 'which gateway sent the request is known to the service alone',
  'execution.traceId': 'the program of the agent names it',
  'execution.result': 'what the action came to is known to who carried it out',
  'execution.failureReason': 'words of who carried it out, or of the service',
  'execution.authorized execution.outcome': 'whether a handler or the caller carries it out',
  'execution.resumed execution.outcome': 'whether a handler or the caller carries it out',
  'decision.reviews[].comment': 'words of a reviewer',
  'decision.reviews[].grant': 'what else an unsigned review gave, if the file has no grant from it',
  'agent.description': 'a text',
  'agent.slackId': 'where messages go; that of who reviewed in Slack is checked',
  'agent.directory': 'where the person comes from',
  'policy.description': 'a text',
  'stop.reason': 'a text',
  'passkey.name': 'a text',
  'passkey.credentialId': 'by which a browser finds the key; the key itself is checked',
};

/**
 * Finds the attested members that a file has.
 * @param {readonly Json[]} entries
 */
export function attestedIn(entries) {
  const members = new Set();
  for (const name of Object.keys(ATTESTED)) {
    const [member = '', action] = name.split(' ').reverse();
    const [part = '', ...path] = member.split('.');
    const isThere = entries.some(
      ({ subjectType, audit, state }) =>
        (action === undefined || action === audit.action || (subjectType === 'decision' && action === state.type)) &&
        (part === 'audit' || part === 'details' || part === subjectType) &&
        isAt(part === 'audit' ? audit : part === 'details' ? audit.details : state, path),
    );
    if (isThere) members.add(member);
  }
  return [...members].sort();
}

/**
 * @param {Json} value
 * @param {readonly string[]} path
 * @returns {boolean} whether there is something, which is not empty
 */
function isAt(value, [name = '', ...path]) {
  const member = value?.[name.replace('[]', '')] ?? null;
  const items = Array.isArray(member) && name.endsWith('[]') ? member : [member];
  return items.some((item) => (path.length > 0 && item !== null ? isAt(item, path) : item !== null && item !== ''));
}
