import { applyDecorators } from '@nestjs/common';
import { RequiresScope, SetRouteMetadata } from '../../http/request/routes';

/** Most values in the lists of a body: operations and members. */
const MAX_LISTED_VALUES = 100_000;

/** Makes the routes of a controller those of SCIM, for the keys of directories only. */
export const ScimRoutes = (): ClassDecorator =>
  applyDecorators(
    RequiresScope('directory'),
    SetRouteMetadata({
      ...{ isScim: true, refusesRepeatedNames: true, ignoresIdempotencyKey: true },
      mostListedValues: MAX_LISTED_VALUES,
    }),
  );
