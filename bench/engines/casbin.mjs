import { newEnforcer, newModelFromString } from 'casbin';
import { measure } from './program.mjs';

/**
 * The model of casbin. Casbin goes through the policies one after another, and the functions below report which match.
 * A denial overrides.
 */
const MODEL = `
[request_definition]
r = subject, action, type, path

[policy_definition]
p = id, eft

[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))

[matchers]
m = subjects(r.subject, p.id) && actions(r.action, p.id) && types(r.type, p.id) && resources(r.path, r.type, p.id)
`;

await measure(async (policies) => {
  const compiled = new Map(policies.map((policy) => [policy.id, compile(policy)]));
  const enforcer = await newEnforcer(newModelFromString(MODEL));
  await enforcer.addFunction('subjects', (subject, id) =>
    compiled.get(id).subjects.some((matches) => matches(subject)),
  );
  await enforcer.addFunction('actions', (action, id) => {
    const { actions } = compiled.get(id);
    return actions.has('*') || actions.has(action);
  });
  await enforcer.addFunction('types', (type, id) => {
    const { types } = compiled.get(id);
    return types.size === 0 || types.has(type);
  });
  await enforcer.addFunction('resources', (path, type, id) =>
    compiled.get(id).resources.some((matches) => matches(path) || matches(`${type}/${path}`)),
  );
  await enforcer.addPolicies(policies.map(({ id, effect }) => [id, effect]));
  return ({ subject, action, resourceType, resourceId }) => enforcer.enforce(subject, action, resourceType, resourceId);
});

function compile({ subjects, actions, resourceTypes, resources }) {
  return {
    subjects: subjects.map(subjectMatcher),
    actions: new Set(actions),
    types: new Set(resourceTypes),
    resources: resources.map(resourceMatcher),
  };
}

function subjectMatcher(pattern) {
  if (pattern === '*') return () => true;
  if (pattern === 'role:*') return ({ roles }) => roles.length > 0;
  if (pattern.startsWith('role:')) return ({ roles }) => roles.includes(pattern.slice('role:'.length));
  const name = pattern.replace(/^agent:/, '');
  return ({ agentId, agentName }) => agentId === name || agentName === name;
}

function resourceMatcher(pattern) {
  if (pattern === '*') return () => true;
  if (!pattern.endsWith('/*')) return (path) => path === pattern;
  const prefix = pattern.slice(0, -1);
  return (path) => path.startsWith(prefix);
}
