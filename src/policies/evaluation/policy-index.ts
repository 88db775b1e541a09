import { Branch } from './branch';
import type { CompiledPolicy } from './compiled-policy';
import type { EvaluationRequest } from './evaluation-request';
import { ResourceIndex } from './resource-index';
import type { ResourceProbe } from './resource-probe';
import type { Verdict } from './verdict';

type TypeBranch = Branch<ResourceIndex>;
type ActionBranch = Branch<TypeBranch>;

const newTypeBranch = (): TypeBranch =>
  new Branch(
    (policy) => policy.resourceTypes,
    () => new ResourceIndex(),
  );
const newActionBranch = (): ActionBranch => new Branch((policy) => policy.actions, newTypeBranch);

/**
 * Policies filed by subject, then action, then resource type, then resource. An evaluation looks up the few places where
 * a match can be, so it costs the same among ten policies and among ten thousand.
 */
export class PolicyIndex {
  private readonly agents = new Branch((policy) => policy.agents, newActionBranch);
  private readonly roles = new Branch((policy) => policy.roles, newActionBranch);

  add(policy: CompiledPolicy): void {
    this.agents.add(policy);
    this.roles.add(policy);
  }

  remove(policy: CompiledPolicy): void {
    this.agents.remove(policy);
    this.roles.remove(policy);
  }

  evaluate(request: EvaluationRequest, probe: ResourceProbe, verdict: Verdict): void {
    const { agentId, agentName, roles } = request.subject;
    const see = (ranked: readonly CompiledPolicy[]): void => {
      verdict.offer(ranked);
    };
    const follow = (actions: ActionBranch | undefined): void => {
      if (actions === undefined) return;
      followAction(actions.forAny(), request, probe, see);
      followAction(actions.forName(request.action), request, probe, see);
    };
    follow(this.agents.forAny());
    follow(this.agents.forName(agentId));
    follow(this.agents.forName(agentName));
    if (roles.length === 0 || this.roles.isEmpty) return;
    follow(this.roles.forAny());
    for (const role of roles) follow(this.roles.forName(role));
  }
}

function followAction(
  types: TypeBranch | undefined,
  request: EvaluationRequest,
  probe: ResourceProbe,
  see: (ranked: readonly CompiledPolicy[]) => void,
): void {
  if (types === undefined) return;
  types.forAny()?.visit(probe, see);
  types.forName(request.resourceType)?.visit(probe, see);
}
