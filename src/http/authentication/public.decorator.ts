import { SetMetadata, type CustomDecorator } from '@nestjs/common';

export const IS_PUBLIC = 'http:public';

/** The route, or every route of the controller, needs no API key. */
export const Public = (): CustomDecorator => SetMetadata(IS_PUBLIC, true);
