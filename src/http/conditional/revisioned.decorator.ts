import { SetMetadata, type CustomDecorator } from '@nestjs/common';

export const IS_REVISIONED = 'http:revisioned';

/** The route answers with a record that has a `revision`: it becomes a strong ETag, and a GET honours `If-None-Match`. */
export const Revisioned = (): CustomDecorator => SetMetadata(IS_REVISIONED, true);
