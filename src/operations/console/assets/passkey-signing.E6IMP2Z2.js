import{a,b,c,d,e}from"./chunk.NCIIQQ25.js";import"./chunk.WOW2ROIK.js";import"./chunk.35GLESCP.js";export{a as approvalOf,c as isUsable,e as passkeysOf,d as registerPasskey,b as signedBy};
