import{l as e}from"./chunk.FOXZJGU5.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
