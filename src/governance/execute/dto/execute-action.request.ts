import { notComposedFault } from '../../../core/values/label-fault';
import { FreeFormObject, RequiredText } from '../../../http/validation/fields';
import type { JsonObject } from '../../../core/json/json-value';
import { OnBehalfOfField, RunField, type GivenPrincipal } from '../../permissions/principals';
import { type AskedPermit, PermitField } from '../../permits/permit.dto';
import { resourcePathFault, resourceTypeFault } from '../../policies/patterns/resources';

export class ExecuteActionRequest {
  @RequiredText({
    max: 100,
    description: 'What the capabilities of the agent allow. In Unicode normal form C.',
    example: 'send-reminder',
    rule: notComposedFault,
  })
  readonly action!: string;

  @RequiredText({
    max: 100,
    description: 'Without `/`; percent-encoding as in `resourceId`.',
    example: 'document',
    rule: resourceTypeFault,
  })
  readonly resourceType!: string;

  @RequiredText({
    max: 500,
    description:
      'A resource path or name, without empty, `.` and `..` segments; one leading `/` is ignored. Or a URL `<scheme>://…` in its ' +
      'canonical form, with a path, and without query, fragment and user name. Refused are `\\`, control and ' +
      'format characters, white space at the ends of a segment, in a path with `/` also `?`, `#` and `;`; percent-encoded `/`, `\\`, ' +
      'letters, digits, `-._~` and bytes that are not UTF-8; more than 64 segments.',
    example: 'invoices/2026/0042',
    rule: resourcePathFault,
  })
  readonly resourceId!: string;

  @FreeFormObject({
    optional: true,
    default: {},
    description: 'Free-form members, passed to the handler of the action and stored as they were sent.',
    example: { to: 'customer@example.com' },
  })
  readonly parameters?: JsonObject;

  @OnBehalfOfField('Without it, the one that the token of the caller names, if it does.')
  readonly onBehalfOf?: GivenPrincipal;

  @RunField()
  readonly run?: string;

  @PermitField()
  readonly permit?: AskedPermit;
}

export class ResumeRequest {
  @PermitField()
  readonly permit?: AskedPermit;
}
