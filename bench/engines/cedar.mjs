import { createRequire } from 'node:module';
import { measure } from './program.mjs';

const cedar = createRequire(import.meta.url)('@cedar-policy/cedar-wasm/nodejs');
const POLICIES = 'the policies';

/** The policies are parsed once; each check passes the agent with its roles, and the resource. */
await measure(async (policies) => {
  const answer = cedar.preparsePolicySet(POLICIES, { staticPolicies: policies.map(policyText).join('\n') });
  if (answer.type !== 'success') throw new Error(JSON.stringify(answer));
  return isAllowed;
});

function isAllowed({ subject, action, resourceType, resourceId }) {
  const principal = { type: 'Agent', id: subject.agentId };
  const resource = { type: 'Resource', id: resourceId };
  const answer = cedar.statefulIsAuthorized({
    principal,
    action: { type: 'Action', id: action },
    resource,
    context: {},
    preparsedPolicySetId: POLICIES,
    entities: [
      {
        uid: principal,
        attrs: { name: subject.agentName, hasRole: subject.roles.length > 0 },
        parents: subject.roles.map((id) => ({ type: 'Role', id })),
      },
      {
        uid: resource,
        attrs: { kind: resourceType, path: resourceId, typedPath: `${resourceType}/${resourceId}` },
        parents: [],
      },
    ],
  });
  if (answer.type !== 'success') throw new Error(JSON.stringify(answer));
  return answer.response.decision === 'allow';
}

function policyText({ effect, subjects, actions, resourceTypes, resources }) {
  const conditions = [
    either(subjects.map(subjectText)),
    either(actions.map((action) => (action === '*' ? 'true' : `action == Action::${text(action)}`))),
    ...(resourceTypes.length > 0 ? [`[${resourceTypes.map(text).join(', ')}].contains(resource.kind)`] : []),
    either(resources.map(resourceText)),
  ];
  const word = effect === 'deny' ? 'forbid' : 'permit';
  return `${word}(principal, action, resource) when { ${conditions.join(' && ')} };`;
}

function subjectText(pattern) {
  if (pattern === '*') return 'true';
  if (pattern === 'role:*') return 'principal.hasRole';
  if (pattern.startsWith('role:')) return `principal in Role::${text(pattern.slice('role:'.length))}`;
  const name = text(pattern.replace(/^agent:/, ''));
  return `principal == Agent::${name} || principal.name == ${name}`;
}

function resourceText(pattern) {
  if (pattern === '*') return 'true';
  const comparison = pattern.endsWith('/*') ? 'like' : '==';
  return `resource.path ${comparison} ${text(pattern)} || resource.typedPath ${comparison} ${text(pattern)}`;
}

function either(conditions) {
  return `(${conditions.join(' || ')})`;
}

function text(value) {
  return JSON.stringify(value);
}
