import{a,b,c,d,e}from"./chunk.IGYTNDXD.js";import"./chunk.IP5D2F5X.js";import"./chunk.SLY2Z32H.js";export{a as approvalOf,c as isUsable,e as passkeysOf,d as registerPasskey,b as signedBy};
